from memoryd.api import AsyncMemory as AsyncMemory
from memoryd.api import Memory as Memory

__version__: str
