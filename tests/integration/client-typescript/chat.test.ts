import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';

import { baseURL, openai, textModel, toolModel } from './clients.js';
import { fetch } from './stackproof.js';

const WEATHER: OpenAI.Chat.ChatCompletionFunctionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};
const ask = (content: string): OpenAI.Chat.ChatCompletionMessageParam[] => [{ role: 'user', content }];

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of stream) items.push(item);
  return items;
}

test('the stack is well', async () => {
  const response = await fetch(`${baseURL}/v1/health`);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: 'OK' });
});

test('the models of the setup are listed', async () => {
  const names = (await openai.models.list()).data.map((model) => model.id);
  expect(names).toContain(textModel);
});

describe('chat', () => {
  test('a question is answered', async () => {
    const completion = await openai.chat.completions.create({
      model: textModel,
      messages: ask('Which planet has rings?'),
      temperature: 0,
      max_tokens: 12,
    });
    expect(completion.object).toBe('chat.completion');
    expect(completion.choices[0]?.message.content).toBeTruthy();
    expect(completion.usage?.completion_tokens).toBeLessThanOrEqual(12);
  });

  test('the same question twice gets two answers', async () => {
    const question = { model: textModel, messages: ask('Say hello.'), temperature: 0, max_tokens: 6 };
    const answers = [await openai.chat.completions.create(question), await openai.chat.completions.create(question)];
    expect(answers.every((answer) => answer.choices[0]?.message.content)).toBe(true);
  });

  test('two questions at once get their own answers', async () => {
    const answers = await Promise.all(
      ['hammer', 'violin'].map((word) =>
        openai.chat.completions.create({
          model: textModel,
          messages: ask(`What is a ${word}?`),
          temperature: 0,
          max_tokens: 8,
        }),
      ),
    );
    expect(new Set(answers.map((answer) => answer.id)).size).toBe(2);
  });

  test('text beyond ASCII goes both ways: «déjà vu» 東京', async () => {
    const completion = await openai.chat.completions.create({
      model: textModel,
      messages: ask('Répète: «déjà vu» – 東京 🌧'),
      temperature: 0,
      max_tokens: 12,
    });
    expect(completion.choices[0]?.message.content).toBeTruthy();
  });

  test('a model that is not there is the SDK’s own error', async () => {
    const asked = openai.chat.completions.create({ model: 'nobody/nothing', messages: ask('Hello?'), max_tokens: 4 });
    await expect(asked).rejects.toThrow(OpenAI.NotFoundError);
  });

  describe('streamed', () => {
    test('chunks make up an answer', async () => {
      const stream = await openai.chat.completions.create({
        model: textModel,
        messages: ask('Which animal roars?'),
        temperature: 0,
        max_tokens: 12,
        stream: true,
      });
      const chunks = await all(stream);
      expect(chunks.length).toBeGreaterThan(3);
      expect(new Set(chunks.map((chunk) => chunk.id)).size).toBe(1);
      expect(['stop', 'length']).toContain(chunks.at(-1)?.choices[0]?.finish_reason);
    });

    test('a stream may be left early', async () => {
      const stream = await openai.chat.completions.create({
        model: textModel,
        messages: ask('Tell a long story about a bridge.'),
        temperature: 0,
        max_tokens: 32,
        stream: true,
      });
      let seen = 0;
      for await (const chunk of stream) {
        expect(chunk.object).toBe('chat.completion.chunk');
        seen += 1;
        break;
      }
      expect(seen).toBe(1);
    });
  });
});

describe.skipIf(!toolModel)('tools', () => {
  const request = {
    model: toolModel,
    messages: ask('What is the weather in Paris?'),
    tools: [WEATHER],
    tool_choice: 'auto' as const,
    temperature: 0,
    max_tokens: 32,
  };

  test('an offered tool is called, and its result is answered', async () => {
    const first = await openai.chat.completions.create(request);
    const call = first.choices[0]?.message.tool_calls?.[0];
    if (call?.type !== 'function') throw new Error('no function was called');
    expect(call.function.name).toBe('get_weather');
    expect(JSON.parse(call.function.arguments)).toHaveProperty('city');
    const second = await openai.chat.completions.create({
      ...request,
      messages: [
        ...request.messages,
        { role: 'assistant', content: null, tool_calls: [call] },
        { role: 'tool', tool_call_id: call.id, content: JSON.stringify({ sky: 'clear' }) },
      ],
    });
    expect(second.choices[0]?.message.content).toBeTruthy();
  });

  test('a tool call is streamed in pieces', async () => {
    const stream = await openai.chat.completions.create({ ...request, stream: true });
    const pieces = (await all(stream)).flatMap((chunk) => chunk.choices[0]?.delta.tool_calls ?? []);
    expect(pieces.length).toBeGreaterThan(1);
    expect(JSON.parse(pieces.map((piece) => piece.function?.arguments ?? '').join(''))).toHaveProperty('city');
  });
});
