#if Service
    /// The header block that is being received; there is one at a time on a connection (RFC 9113, 4.3).
    struct IncomingBlock {
        enum Kind {
            /// The application gets its fields.
            case delivered
            /// A client waits for `:status` to know whether the response is the final one.
            case undecided
            /// Trailers, informational responses and refused streams. They are decoded only to keep the compression state.
            case skipped
        }

        var kind = Kind.skipped
        /// The size of the list so far, counted as in RFC 9113, 6.5.2.
        var listBytes = 0
        /// Whether the list exceeds its limit.
        var isTooLarge = false

        /// RFC 9113 adds this to the size of each field's name and value.
        static let bytesPerField = 32
    }
#endif
