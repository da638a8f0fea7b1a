#if Service
    /// One frame as libnghttp2 has written it, before it is sent (RFC 9113, 4.1). Valid while its bytes are.
    ///
    /// libnghttp2 returns one frame at a time. Three kinds are changed here. SETTINGS get the announced number of streams
    /// (see `ConcurrencyLimit`). The first GOAWAY of a drain gets its debug data: libnghttp2's own GOAWAY would make it
    /// ignore streams that arrive between the first and the second. The never indexed literals of a provider's HEADERS
    /// become literals without indexing, because libnghttp2 cannot write these (see `HTTP2Configuration.Literals`).
    struct OutgoingFrame {
        static let headBytes = 9

        static let headers: UInt8 = 0x1
        static let settings: UInt8 = 0x4
        static let goAway: UInt8 = 0x7

        static let endStreamFlag: UInt8 = 0x1
        static let acknowledgeFlag: UInt8 = 0x1

        /// SETTINGS_MAX_CONCURRENT_STREAMS.
        static let maxConcurrentStreams: UInt16 = 0x3
        private static let settingBytes = 6
        /// The bytes of a GOAWAY before its debug data: the last stream and the code.
        private static let goAwayBytes = 8

        let bytes: UnsafeRawBufferPointer

        /// The bit in which the two literal forms differ (RFC 7541, 6.2.2 and 6.2.3).
        static let neverIndexedBit: UInt8 = 0x10
        static let endHeadersFlag: UInt8 = 0x4
        /// PADDED and PRIORITY, which put bytes before the header block (RFC 9113, 6.2).
        static let paddedOrPriorityFlags: UInt8 = 0x28

        /// Returns nil for the client's preface, which is not a frame.
        init?(_ bytes: UnsafeRawBufferPointer) {
            // The preface begins with "PRI ". As the length of a frame this would be 5 MiB, which is more than we ever
            // send.
            guard bytes.count >= Self.headBytes, bytes[0] != UInt8(ascii: "P") else { return nil }
            self.bytes = bytes
        }

        var type: UInt8 { bytes[3] }
        var flags: UInt8 { bytes[4] }
        var stream: StreamID { StreamID(Int32(bitPattern: word(at: 5) & 0x7fff_ffff)) }

        /// A 32-bit number in network byte order.
        func word(at offset: Int) -> UInt32 {
            UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        }

        /// The offset of a setting's value in a SETTINGS frame; nil if the frame does not have the setting.
        func offset(ofSetting setting: UInt16) -> Int? {
            var offset = Self.headBytes
            while offset + Self.settingBytes <= bytes.count {
                let number = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
                if number == setting { return offset + 2 }
                offset += Self.settingBytes
            }
            return nil
        }

        /// The contents of a GOAWAY; nil if the frame is too short for one.
        var goAway: (lastStream: StreamID, code: HTTP2ErrorCode, debugData: UnsafeRawBufferPointer)? {
            guard bytes.count >= Self.headBytes + Self.goAwayBytes else { return nil }
            return (
                StreamID(Int32(bitPattern: word(at: Self.headBytes) & 0x7fff_ffff)),
                HTTP2ErrorCode(word(at: Self.headBytes + 4)),
                UnsafeRawBufferPointer(rebasing: bytes[(Self.headBytes + Self.goAwayBytes)...])
            )
        }

        /// Makes a whole GOAWAY frame.
        static func goAway(lastStream: StreamID, code: HTTP2ErrorCode, debugData: some Collection<UInt8>) -> [UInt8] {
            let length = UInt32(truncatingIfNeeded: goAwayBytes + debugData.count)
            var frame: [UInt8] = []
            frame.reserveCapacity(headBytes + goAwayBytes + debugData.count)
            // The length has 24 bits.
            frame.append(contentsOf: [UInt8(length >> 16 & 0xff), UInt8(length >> 8 & 0xff), UInt8(length & 0xff)])
            frame.append(contentsOf: [goAway, 0, 0, 0, 0, 0])
            for word in [UInt32(bitPattern: lastStream.rawValue), code.rawValue] {
                withUnsafeBytes(of: word.bigEndian) { frame.append(contentsOf: $0) }
            }
            frame.append(contentsOf: debugData)
            return frame
        }
    }
#endif
