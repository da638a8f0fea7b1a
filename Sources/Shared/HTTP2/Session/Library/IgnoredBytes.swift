#if Service
    /// Counts the received bytes of frames that libnghttp2 does not report.
    ///
    /// libnghttp2 skips DATA of closed streams and frames of unknown types without a callback. Their bytes are all received
    /// bytes minus the bytes of reported frames.
    struct IgnoredBytes {
        /// The size of a frame's head (RFC 9113, 4.1). libnghttp2 reports a frame only after its whole head has come.
        private static let frameHeadBytes = 9

        private var received = 0
        private var reported = 0
        private var counted = 0

        /// libnghttp2 has reported the beginning of a frame. Its payload may come later.
        mutating func frameReported(payloadBytes: Int) { reported &+= Self.frameHeadBytes &+ payloadBytes }

        /// libnghttp2 has read this many bytes.
        /// - Returns: how many more bytes were ignored, at least.
        mutating func received(_ count: Int) -> Int {
            received &+= count
            let new = received &- reported &- (Self.frameHeadBytes - 1) &- counted
            guard new > 0 else { return 0 }
            counted &+= new
            return new
        }
    }
#endif
