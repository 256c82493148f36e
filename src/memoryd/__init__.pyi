from memoryd.api import Memory as Memory

__version__: str
