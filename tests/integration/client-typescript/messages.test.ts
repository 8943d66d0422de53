import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, test } from 'vitest';

import { anthropic, textModel, toolModel } from './clients.js';

const WEATHER: Anthropic.Tool = {
  name: 'get_weather',
  description: 'Get the weather of a city.',
  input_schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
};
const ask = (content: string): Anthropic.MessageParam[] => [{ role: 'user', content }];

describe('messages', () => {
  test('a message is answered', async () => {
    const message = await anthropic.messages.create({
      model: textModel,
      messages: ask('Which month has the shortest name?'),
      max_tokens: 12,
    });
    expect(message.type).toBe('message');
    expect(message.content.some((block) => block.type === 'text' && block.text !== '')).toBe(true);
    expect(message.usage.output_tokens).toBeLessThanOrEqual(12);
  });

  test('a streamed message is put together by the SDK', async () => {
    const stream = anthropic.messages.stream({ model: textModel, messages: ask('Name a flower.'), max_tokens: 10 });
    let text = '';
    stream.on('text', (piece) => (text += piece));
    const final = await stream.finalMessage();
    expect(text).not.toBe('');
    expect(final.content.map((block) => (block.type === 'text' ? block.text : '')).join('')).toBe(text);
  });

  test('tokens are counted without an answer', async () => {
    const counted = await anthropic.messages.countTokens({ model: textModel, messages: ask('Hi') });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  test.skipIf(!toolModel)('a tool is called with its input', async () => {
    const message = await anthropic.messages.create({
      model: toolModel,
      messages: ask('What is the weather in Paris?'),
      tools: [WEATHER],
      max_tokens: 200,
    });
    expect(message.stop_reason).toBe('tool_use');
    expect(message.content.find((block) => block.type === 'tool_use')?.name).toBe('get_weather');
  });

  test('a model that is not there is the SDK’s own error', async () => {
    const asked = anthropic.messages.create({ model: 'nobody/nothing', messages: ask('Hello?'), max_tokens: 4 });
    await expect(asked).rejects.toThrow(Anthropic.NotFoundError);
  });
});
