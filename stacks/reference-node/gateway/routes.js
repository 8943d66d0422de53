/** The gateway: `provider/model` in a request chooses the provider, which sees the bare model name. */

import { Dialect, RefusedError, toldAs } from './answers.js';
import { bodyOf, passedOn, providerOf } from './asked.js';
import { models } from './models.js';
import { relay } from './relay.js';

/**
 * POSTs that go to one provider. ask: calls the SDK's method. required: the fields without which it cannot be called.
 * What the SDK does not know goes on unchanged, as everything else does.
 */
const ENDPOINTS = {
  '/v1/chat/completions': {
    ask: (clients, body, options) => clients.openai.chat.completions.create(body, options),
    required: ['model', 'messages'],
    streams: true,
    dialect: Dialect.OPENAI,
  },
  '/v1/completions': {
    ask: (clients, body, options) => clients.openai.completions.create(body, options),
    required: ['model', 'prompt'],
    streams: true,
    dialect: Dialect.OPENAI,
  },
  '/v1/embeddings': {
    // Left out, the SDK would ask for base64 behind the caller's back; the API's own default is float.
    ask: (clients, body, options) => clients.openai.embeddings.create({ encoding_format: 'float', ...body }, options),
    required: ['model', 'input'],
    streams: false,
    dialect: Dialect.OPENAI,
  },
  '/v1/messages': {
    ask: (clients, body, options) => anthropicOf(clients).messages.create(body, options),
    required: ['model', 'max_tokens', 'messages'],
    streams: true,
    dialect: Dialect.ANTHROPIC,
  },
  '/v1/messages/count_tokens': {
    ask: (clients, body, options) => anthropicOf(clients).messages.countTokens(body, options),
    required: ['model', 'messages'],
    streams: false,
    dialect: Dialect.ANTHROPIC,
  },
};

/** A listener for node:http. clients: by provider name. forwarded: names of headers that go on to the provider. */
export function listener(clients, forwarded) {
  return async (request, response) => {
    const path = new URL(request.url, 'http://gateway').pathname;
    const endpoint = ENDPOINTS[path];
    const at = { provider: '' }; // for whoever has to say that it gave no answer
    const left = new AbortController();
    response.on('close', () => left.abort());
    const options = { headers: passedOn(request, forwarded), signal: left.signal };
    try {
      if (path === '/v1/health') {
        only(request, 'GET');
        json(response, 200, { status: 'OK' });
      } else if (path === '/v1/models') {
        only(request, 'GET');
        json(response, 200, await models(clients, options, at));
      } else if (endpoint !== undefined) {
        only(request, 'POST');
        await passOn(endpoint, { clients, request, response, options, at });
      } else {
        throw new RefusedError(404, `${request.method} ${path}: Not Found`);
      }
    } catch (error) {
      if (response.destroyed) return; // nobody waits for the answer any more
      if (response.headersSent) return void response.destroy();
      const told = toldAs(endpoint?.dialect ?? Dialect.OPENAI, at.provider, error);
      json(response, told.status, told.body, told.headers);
    }
  };
}

async function passOn(endpoint, { clients, request, response, options, at }) {
  const body = await bodyOf(request, endpoint.required);
  const { found, model } = providerOf(clients, body.model);
  at.provider = found.provider.name;
  const beta = request.headers['anthropic-beta'];
  const headers = endpoint.dialect === Dialect.ANTHROPIC && beta ? { 'anthropic-beta': beta } : {};
  const upstream = await endpoint
    .ask(found, { ...body, model }, { ...options, headers: { ...options.headers, ...headers } })
    .asResponse();
  const streamed = endpoint.streams && body.stream === true;
  await relay(upstream, response, { dialect: endpoint.dialect, provider: at.provider, streamed });
}

function anthropicOf(clients) {
  if (clients.anthropic === null) {
    throw new RefusedError(404, `The provider '${clients.provider.name}' does not offer /v1/messages.`);
  }
  return clients.anthropic;
}

function only(request, method) {
  if (request.method !== method) {
    throw new RefusedError(405, `${request.method} ${request.url}: Method Not Allowed`);
  }
}

function json(response, status, body, headers = {}) {
  const content = Buffer.from(JSON.stringify(body));
  const usual = { 'content-type': 'application/json', 'content-length': content.length };
  // What is told anew is JSON, whatever the provider's error was.
  response.writeHead(status, { ...headers, ...usual }).end(content);
}
