/** Passing a provider's answer on: as a whole, or piece by piece as it arrives. */

import { once } from 'node:events';

import { errorEvent, noAnswer } from './answers.js';

/** Write `upstream`, what fetch gave, to `response`, byte for byte. */
export async function relay(upstream, response, { dialect, provider, streamed }) {
  const type = upstream.headers.get('content-type');
  const headers = type === null ? {} : { 'content-type': type };
  if (!streamed) {
    const content = Buffer.from(await upstream.arrayBuffer());
    response.writeHead(upstream.status, { ...headers, 'content-length': content.length }).end(content);
    return;
  }
  response.writeHead(upstream.status, headers);
  response.flushHeaders();
  try {
    for await (const piece of upstream.body ?? []) {
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      if (response.destroyed) return;
    }
  } catch (error) {
    if (response.destroyed) return; // the client left, and the provider's connection was closed for it
    response.write(errorEvent(dialect, noAnswer(provider, error)));
  }
  response.end();
}
