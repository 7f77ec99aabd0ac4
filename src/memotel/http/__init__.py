"""The HTTP core: one request over httpx, within an absolute deadline. Only this package imports httpx."""
