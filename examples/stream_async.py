"""Stream an answer in an asynchronous program, and stop early.

Run: python examples/stream_async.py MODEL    (a folder or a hub name; needs the transformers extra)
"""

import asyncio
import sys

import constrain


async def main() -> None:
    model = constrain.load(sys.argv[1])
    prompt = [{"role": "user", "content": "List some rivers of Europe as a JSON array."}]
    async for event in constrain.stream_async(model, prompt, schema=list[str], max_tokens=200):
        print(event.text, end="", flush=True)
        if event.result is not None:
            print(f"\n{len(event.result.value)} rivers, {event.result.report.model_calls} calls of the model")


if __name__ == "__main__":
    asyncio.run(main())
