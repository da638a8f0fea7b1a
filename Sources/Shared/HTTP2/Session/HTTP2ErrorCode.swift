// A session's users name its error codes and its limits, so they get them with it.
@_exported public import struct HTTP2Core.ErrorCode
@_exported public import struct HTTP2Core.FloodLimits

package typealias HTTP2ErrorCode = ErrorCode
