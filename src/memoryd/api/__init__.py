"""The interface for Python programs: `from memoryd import Memory, AsyncMemory`. Nothing else here is public."""

from memoryd.api.asynchronous import AsyncMemory as AsyncMemory
from memoryd.api.memory import Memory as Memory
