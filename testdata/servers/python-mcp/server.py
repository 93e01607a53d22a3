# SPDX-License-Identifier: Apache-2.0
"""A small server with MCPServer of the Python SDK: server.py [http PORT]."""

import sys

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import Completion, PromptReference, ToolAnnotations

READ_ONLY = ToolAnnotations(read_only_hint=True)
TOPICS = ["tides", "timber", "winds"]

mcp = MCPServer("python-mcp", version="1.0.0")


@mcp.tool(annotations=READ_ONLY)
def echo(text: str) -> str:
    """Repeat a text."""
    return text


@mcp.tool(annotations=READ_ONLY)
def add(a: float, b: float) -> float:
    """Add two numbers."""
    return a + b


@mcp.tool(annotations=READ_ONLY)
async def slow(ctx: Context) -> str:
    """Take a third of a second, and say how far it is."""
    await ctx.info("starting")
    for step in range(3):
        await anyio.sleep(0.1)
        await ctx.report_progress(step + 1, 3)
    return "done"


@mcp.tool(annotations=READ_ONLY)
def broken() -> str:
    """Fail every time."""
    raise ToolError("this tool never works")


@mcp.resource("notes://today", mime_type="text/plain")
def today() -> str:
    """The note of the day."""
    return "Water the plants."


@mcp.resource("notes://about/{topic}", mime_type="text/plain")
def about(topic: str) -> str:
    """A note about a topic."""
    return f"Nothing is known about {topic}."


@mcp.prompt()
def explain(topic: str) -> str:
    """Ask for an explanation of a topic."""
    return f"Explain {topic} in three sentences."


@mcp.completion()
async def complete(ref, argument, context):
    if isinstance(ref, PromptReference) or argument.name == "topic":
        return Completion(values=[t for t in TOPICS if t.startswith(argument.value)])
    return None


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        mcp.run(transport="streamable-http", port=int(sys.argv[2]))
    else:
        mcp.run()
