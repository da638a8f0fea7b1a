// The types of `HTTP2Core` that a session's users name: they get them with it.
@_exported public import struct HTTP2Core.EndpointLimits
@_exported public import struct HTTP2Core.ErrorCode
@_exported public import enum HTTP2Core.FieldForm
@_exported public import struct HTTP2Core.FieldList
@_exported public import enum HTTP2Core.FloodKind
@_exported public import struct HTTP2Core.FloodLimits
@_exported public import struct HTTP2Core.StreamID
@_exported public import struct HTTP2Core.StreamTable

package typealias HTTP2ErrorCode = ErrorCode
