#if Service
    extension OutgoingFrame {
        /// Finds the never indexed literals of a HEADERS frame (RFC 7541, 6.2.3).
        ///
        /// It reads only the forms and lengths of the fields. A header block with CONTINUATION frames is skipped: it has
        /// more than 16 KiB, and no push service accepts that.
        /// - Parameter body: gets the offset of each such field in the frame, and its first byte.
        func forEachNeverIndexedLiteral(_ body: (_ offset: Int, _ byte: UInt8) -> Void) {
            guard flags & Self.endHeadersFlag != 0, flags & Self.paddedOrPriorityFlags == 0 else { return }
            var offset = Self.headBytes
            while offset < bytes.count {
                let (start, byte) = (offset, bytes[offset])
                switch byte {
                case 0x80...: skipInteger(prefix: 7, at: &offset)  // 6.1: both are in the table.
                case 0x40...: skipLiteral(prefix: 6, at: &offset)  // 6.2.1: with incremental indexing.
                case 0x20...: skipInteger(prefix: 5, at: &offset)  // 6.3: a change of the table's size.
                default:
                    skipLiteral(prefix: 4, at: &offset)
                    if byte & Self.neverIndexedBit != 0 { body(start, byte) }
                }
            }
        }

        /// Skips a name, given by its index or as text, and a value.
        private func skipLiteral(prefix: Int, at offset: inout Int) {
            if skipInteger(prefix: prefix, at: &offset) == 0 { skipText(at: &offset) }
            skipText(at: &offset)
        }

        private func skipText(at offset: inout Int) {
            let (end, isTooLarge) = skipInteger(prefix: 7, at: &offset).addingReportingOverflow(offset)
            offset = isTooLarge ? bytes.count : end
        }

        /// Reads an integer (RFC 7541, 5.1). libnghttp2 wrote it, so it is complete. Beyond the end of the frame the result
        /// is 0.
        @discardableResult
        private func skipInteger(prefix: Int, at offset: inout Int) -> Int {
            guard offset < bytes.count else { return 0 }
            let mask = UInt8(1) << UInt8(prefix) &- 1
            let first = bytes[offset] & mask
            offset += 1
            guard first == mask else { return Int(first) }
            var (value, shift) = (Int(mask), 0)
            while offset < bytes.count, shift < 28 {
                let byte = bytes[offset]
                offset += 1
                value += Int(byte & 0x7f) << shift
                if byte & 0x80 == 0 { break }
                shift += 7
            }
            return value
        }
    }
#endif
