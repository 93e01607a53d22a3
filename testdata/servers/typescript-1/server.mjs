// SPDX-License-Identifier: Apache-2.0
// A small server with the TypeScript SDK 1.x: server.mjs [http PORT].
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import { completable } from '@modelcontextprotocol/sdk/server/completable.js';
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { isInitializeRequest } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

const topics = ['tides', 'timber', 'winds'];
const startingWith = value => topics.filter(t => t.startsWith(value ?? ''));
const text = value => ({ content: [{ type: 'text', text: String(value) }] });
const annotations = { readOnlyHint: true };

function createServer() {
  const server = new McpServer({ name: 'typescript-1', version: '1.0.0' }, { capabilities: { logging: {} } });

  server.registerTool('echo',
    { description: 'Repeat a text', inputSchema: { text: z.string() }, annotations },
    async ({ text: t }) => text(t));
  server.registerTool('add',
    { description: 'Add two numbers', inputSchema: { a: z.number(), b: z.number() }, annotations },
    async ({ a, b }) => text(a + b));
  server.registerTool('slow',
    { description: 'Take a third of a second, and say how far it is', annotations },
    async extra => {
      await server.sendLoggingMessage({ level: 'info', data: 'starting' }, extra.sessionId);
      const progressToken = extra._meta?.progressToken;
      for (let progress = 1; progress <= 3; progress++) {
        await sleep(100, undefined, { signal: extra.signal });
        if (progressToken !== undefined) {
          await extra.sendNotification({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
        }
      }
      return text('done');
    });
  server.registerTool('broken', { description: 'Fail every time', annotations }, async () => {
    throw new Error('this tool never works');
  });

  server.registerResource('today', 'notes://today', { description: 'The note of the day', mimeType: 'text/plain' },
    async uri => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'Water the plants.' }] }));
  server.registerResource('about',
    new ResourceTemplate('notes://about/{topic}', { list: undefined, complete: { topic: startingWith } }),
    { description: 'A note about a topic', mimeType: 'text/plain' },
    async (uri, { topic }) => ({ contents: [{ uri: uri.href, mimeType: 'text/plain', text: `Nothing is known about ${topic}.` }] }));

  server.registerPrompt('explain',
    { description: 'Ask for an explanation of a topic', argsSchema: { topic: completable(z.string(), startingWith) } },
    ({ topic }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Explain ${topic} in three sentences.` } }] }));
  return server;
}

function serveHTTP(port) {
  const app = createMcpExpressApp();
  const transports = {};
  app.post('/mcp', async (req, res) => {
    const id = req.headers['mcp-session-id'];
    let transport = transports[id];
    if (!transport && id) {
      res.status(404).json({ jsonrpc: '2.0', error: { code: -32001, message: 'Session not found' }, id: null });
      return;
    }
    if (!transport) {
      if (!isInitializeRequest(req.body)) {
        res.status(400).json({ jsonrpc: '2.0', error: { code: -32000, message: 'Bad Request: No valid session ID provided' }, id: null });
        return;
      }
      transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: () => randomUUID(),
        onsessioninitialized: sid => { transports[sid] = transport; },
      });
      transport.onclose = () => { delete transports[transport.sessionId]; };
      await createServer().connect(transport);
    }
    await transport.handleRequest(req, res, req.body);
  });
  const bySession = async (req, res) => {
    const transport = transports[req.headers['mcp-session-id']];
    if (!transport) {
      res.status(req.headers['mcp-session-id'] ? 404 : 400).send('Invalid or missing session ID');
      return;
    }
    await transport.handleRequest(req, res);
  };
  app.get('/mcp', bySession);
  app.delete('/mcp', bySession);
  app.listen(port, '127.0.0.1');
}

if (process.argv[2] === 'http') {
  serveHTTP(Number(process.argv[3]));
} else {
  await createServer().connect(new StdioServerTransport());
}
