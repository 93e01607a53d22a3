// SPDX-License-Identifier: Apache-2.0
// One server and one stateless transport for all clients: server.mjs http PORT.
import { setTimeout as sleep } from 'node:timers/promises';
import express from 'express';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';

const server = new McpServer({ name: 'shared-transport', version: '1.0.0' });
server.registerTool('echo',
  { description: 'Repeat a text, a little later', inputSchema: { text: z.string() }, annotations: { readOnlyHint: true } },
  async ({ text }) => {
    await sleep(50);
    return { content: [{ type: 'text', text }] };
  });

const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
await server.connect(transport);

const app = express();
app.use(express.json());
app.post('/mcp', (req, res) => transport.handleRequest(req, res, req.body));
app.listen(Number(process.argv[3]), '127.0.0.1');
