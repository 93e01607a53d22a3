// SPDX-License-Identifier: Apache-2.0
// A small server with the TypeScript SDK 2.x: server.mjs [http PORT].
import { setTimeout as sleep } from 'node:timers/promises';
import { createMcpExpressApp } from '@modelcontextprotocol/express';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer, ResourceTemplate, completable, createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const topics = ['tides', 'timber', 'winds'];
const startingWith = value => topics.filter(t => t.startsWith(value ?? ''));
const text = value => ({ content: [{ type: 'text', text: String(value) }] });
const annotations = { readOnlyHint: true };

function createServer() {
  const server = new McpServer({ name: 'typescript-2', version: '1.0.0' }, { capabilities: { logging: {} } });

  server.registerTool('echo',
    { description: 'Repeat a text', inputSchema: z.object({ text: z.string() }), annotations },
    async ({ text: t }) => text(t));
  server.registerTool('add',
    { description: 'Add two numbers', inputSchema: z.object({ a: z.number(), b: z.number() }), annotations },
    async ({ a, b }) => text(a + b));
  server.registerTool('slow',
    { description: 'Take a third of a second, and say how far it is', annotations },
    async ctx => {
      await ctx.mcpReq.log('info', 'starting');
      const progressToken = ctx.mcpReq._meta?.progressToken;
      for (let progress = 1; progress <= 3; progress++) {
        await sleep(100, undefined, { signal: ctx.mcpReq.signal });
        if (progressToken !== undefined) {
          await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } });
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
    { description: 'Ask for an explanation of a topic', argsSchema: z.object({ topic: completable(z.string(), startingWith) }) },
    ({ topic }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Explain ${topic} in three sentences.` } }] }));
  return server;
}

if (process.argv[2] === 'http') {
  const app = createMcpExpressApp();
  const handler = toNodeHandler(createMcpHandler(createServer));
  app.all('/mcp', (req, res) => handler(req, res, req.body));
  app.listen(Number(process.argv[3]), '127.0.0.1');
} else {
  serveStdio(createServer);
}
