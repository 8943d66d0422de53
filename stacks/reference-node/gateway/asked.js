/** What a request asks for: its JSON body, and the provider that its model names. */

import { RefusedError } from './answers.js';

const LARGEST = 64 * 1024 * 1024; // bytes of one request's body

/** The JSON object that was sent; RefusedError when it is none, or lacks a field. */
export async function bodyOf(request, required) {
  const pieces = [];
  let size = 0;
  for await (const piece of request) {
    size += piece.length;
    if (size > LARGEST) throw new RefusedError(413, `The request body has more than ${LARGEST} bytes.`);
    pieces.push(piece);
  }
  let body;
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(pieces)));
  } catch (error) {
    throw new RefusedError(400, `The request body is not valid JSON: ${error.message}`);
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new RefusedError(400, 'The request body must be a JSON object.');
  }
  for (const name of required) {
    if (!Object.hasOwn(body, name)) {
      throw new RefusedError(400, `Missing required parameter: '${name}'.`, { param: name });
    }
  }
  if (typeof body.model !== 'string') {
    throw new RefusedError(400, "The parameter 'model' must be a string.", { param: 'model' });
  }
  return body;
}

/** The clients of the provider in `provider/model`, and the provider's own name of the model. */
export function providerOf(clients, name) {
  const cut = name.indexOf('/');
  const [provider, model] = cut < 0 ? [name, ''] : [name.slice(0, cut), name.slice(cut + 1)];
  const found = clients.get(provider);
  if (found === undefined || model === '') {
    const known = [...clients.keys()].join(', ') || '(none is configured)';
    throw new RefusedError(
      404,
      `The model '${name}' does not exist: models are named provider/model, with a provider out of: ${known}`,
      { code: 'model_not_found' },
    );
  }
  return { found, model };
}

/**
 * Headers of a request that go on to the provider, out of those named in `forwarded`: who asks, for whoever stands
 * between the gateway and the provider and wants to know.
 */
export function passedOn(request, forwarded) {
  const present = forwarded.filter((name) => typeof request.headers[name] === 'string');
  return Object.fromEntries(present.map((name) => [name, request.headers[name]]));
}
