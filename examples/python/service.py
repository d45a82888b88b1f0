"""A service in asyncio: classifies pictures over HTTP, a run for each request, as many at once as there are cores. A
closed connection, and a run that takes too long, end the run.

    python service.py ../digits/digits.onnx           serves on port 8080
    python service.py ../digits/digits.onnx 20        sends itself 20 requests and ends

A request is POST with the 64 shades as JSON; the answer {"digit": 2, "probability": 0.996}.
"""
import asyncio
import json
import os
import sys

import digit
import numpy as np
import retort

LIMIT = 2.0  # seconds


class Service:
    def __init__(self, model: str) -> None:
        options = retort.SessionOptions()
        options.intra_op_num_threads = 1  # requests run side by side
        self._session = retort.InferenceSession(model, options)
        self._free = asyncio.Semaphore(os.cpu_count() or 1)

    # [run]
    async def classify(self, pixels: list[float]) -> dict[str, float]:
        image = np.array(pixels, np.float32).reshape(1, 1, 8, 8)
        probabilities, = await self._run(image)
        return {"digit": int(probabilities.argmax()), "probability": round(float(probabilities.max()), 3)}

    async def _run(self, image: np.ndarray) -> list:
        async with self._free:
            # A task that is cancelled ends its run. The limit is for the run: waiting for others does not count.
            return await asyncio.wait_for(self._session.run_async(None, {"image": image}), LIMIT)
    # [end]

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = next(int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:"))
            status, body = await self.reply(await reader.readexactly(length), reader)
            writer.write(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, StopIteration, ValueError, ConnectionError):
            pass  # no request, or a client that went away
        finally:
            writer.close()

    async def reply(self, body: bytes, reader: asyncio.StreamReader) -> tuple[str, bytes]:
        """The answer to a request. Waits for the run or for the client to go away, whichever comes first."""
        try:
            run = asyncio.ensure_future(self.classify(json.loads(body)))
        except ValueError as error:
            return "400 Bad Request", str(error).encode()
        gone = asyncio.ensure_future(reader.read(1))
        await asyncio.wait({run, gone}, return_when=asyncio.FIRST_COMPLETED)
        gone.cancel()
        if not run.done():
            run.cancel()
            raise ConnectionResetError("the client went away")
        try:
            return "200 OK", json.dumps(run.result()).encode()
        except (TypeError, ValueError, retort.errors.InvalidArgument) as error:
            return "400 Bad Request", str(error).encode()
        except asyncio.TimeoutError:
            return "503 Service Unavailable", b"the run took too long"


async def ask(port: int, body: bytes) -> str:
    """What the service on this machine answers."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    text = (await reader.read()).decode()
    writer.close()
    return text.split(" ", 1)[1].split("\r\n", 1)[0] + ": " + text.rsplit("\r\n", 1)[1]


async def main(model: str, requests: str = "") -> None:
    service = Service(model)
    server = await asyncio.start_server(service.answer, "127.0.0.1", 0 if requests else 8080)
    port = server.sockets[0].getsockname()[1]
    async with server:
        if not requests:
            await server.serve_forever()
        bodies = [json.dumps(digit.two(i % 3).ravel().tolist()).encode() for i in range(int(requests))]
        answers = await asyncio.gather(*(ask(port, body) for body in bodies))
        print(f"{len(answers)} answers: {', '.join(sorted(set(answers)))}")
        print(await ask(port, b"[1, 2]"))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
