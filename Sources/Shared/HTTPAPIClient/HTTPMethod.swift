// Callers name the method of a request, so they get it with the client.
@_exported public import enum NIOHTTP1.HTTPMethod
