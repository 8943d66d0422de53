/** The SDK clients, made once for the process. */

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

// Milliseconds. Models on small machines are slow; a value of our own also stops Anthropic's SDK from refusing plain
// requests that it thinks may take longer than its default.
const TIMEOUT = 300_000;

/** Provider name -> its clients. `anthropic` is null where the provider does not speak that API. */
export function opened(providers) {
  // The SDKs do not retry: that is for whoever called the gateway.
  const usual = { maxRetries: 0, timeout: TIMEOUT };
  return new Map(
    providers.map((provider) => [
      provider.name,
      {
        provider,
        openai: new OpenAI({ baseURL: provider.openaiUrl, apiKey: provider.key, ...usual }),
        anthropic:
          provider.anthropicUrl === null
            ? null
            : new Anthropic({ baseURL: provider.anthropicUrl, apiKey: provider.key, ...usual }),
      },
    ]),
  );
}
