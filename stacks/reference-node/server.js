/**
 * node server.js --host HOST --port PORT: a small gateway in front of model providers, which calls them through their
 * own SDKs. Providers are those whose URL is in the environment.
 */

import http from 'node:http';
import { parseArgs } from 'node:util';

import { opened } from './gateway/clients.js';
import { configured } from './gateway/providers.js';
import { listener } from './gateway/routes.js';

const { values } = parseArgs({
  options: { host: { type: 'string', default: '127.0.0.1' }, port: { type: 'string', default: '8000' } },
});
// Which headers of a request go on to the provider; empty: none.
const forwarded = (process.env.REFERENCE_NODE_FORWARD ?? 'x-provider-data,baggage')
  .split(',')
  .map((name) => name.trim().toLowerCase())
  .filter(Boolean);

const server = http.createServer(listener(opened(configured(process.env)), forwarded));
server.listen(Number(values.port), values.host, () => {
  console.log(`listening at http://${values.host}:${server.address().port}`);
});
for (const signal of ['SIGTERM', 'SIGINT']) {
  process.on(signal, () => {
    server.close(() => process.exit(0));
    server.closeAllConnections();
  });
}
