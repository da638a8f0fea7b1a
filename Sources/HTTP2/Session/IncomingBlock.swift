/// The header block that is being received; there is one at a time on a connection (RFC 9113, 4.3).
struct IncomingBlock {
    enum Kind {
        /// Its fields are told to the application.
        case told
        /// A client waits for `:status` to know whether the response is the final one.
        case undecided
        /// Trailers, informational responses and refused streams: decoded for the sake of the compression state.
        case skipped
    }

    var kind = Kind.skipped
    /// The list's size so far as RFC 9113 (6.5.2) counts it.
    var listBytes = 0
    /// The list is over its limit.
    var isTooLarge = false

    /// What RFC 9113 adds to each field's name and value.
    static let bytesPerField = 32
}
