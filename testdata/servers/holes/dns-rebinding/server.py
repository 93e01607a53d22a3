# SPDX-License-Identifier: Apache-2.0
"""FastMCP of the Python SDK 1.x over HTTP, as its README starts it: server.py http PORT."""

import sys

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("dns-rebinding", port=int(sys.argv[2]))


@mcp.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if __name__ == "__main__":
    mcp.run(transport="streamable-http")
