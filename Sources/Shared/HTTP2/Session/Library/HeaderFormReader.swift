#if Service
    import HTTP2Core

    /// Holds the reader of a session whose encodings are observed.
    final class ObservedEncodings {
        var reader = HeaderFormReader()
    }

    /// Reads the encoding of each header field from the client's bytes, because libnghttp2 does not report it. It keeps no
    /// text and no table: libnghttp2 reports the names and values in the same order.
    ///
    /// It keeps the encoding of each field that one read brings until libnghttp2 has reported the field. libnghttp2 skips
    /// fields of streams that have ended; their encodings are dropped at the next read. It is a value.
    ///
    /// It also reads the requests that libnghttp2 passes over because the connection ends.
    struct HeaderFormReader {
        private enum Place {
            /// The client's preface, with the number of bytes that are missing.
            case preface(Int)
            /// A frame's head, with the bytes that have come.
            case head
            /// The length of the padding and the priority, which come before the header fragment.
            case beforeFragment(skip: Int, hasPadding: Bool)
            case fragment
            /// The rest of a frame, which is skipped.
            case rest
        }

        /// The part of a field that the next byte belongs to.
        private enum Part: Equatable {
            case start
            /// The bytes of an index after the first one, and what follows the index.
            case index(then: Next)
            /// The first byte of a text's length.
            case length(then: Next)
            /// The further bytes of the length.
            case lengthRest(then: Next)
            case text(then: Next)
        }

        private enum Next: Equatable {
            /// The text of the name. The value follows.
            case name
            case value
            case end
            /// A change of the table's size, which is not a field (6.3).
            case noField
        }

        private var place = Place.preface(24)
        private var head: [UInt8] = []
        private var remaining = 0
        private var padding = 0
        private var stream = StreamID.none

        private var part = Part.start
        private var form = HeaderForm.indexed
        private var number = 0
        private var shift = 0
        /// Set if a number is too large to follow. libnghttp2 ends such a connection.
        private(set) var isLost = false

        /// The last stream that the server processes, once the connection ends; nil before that.
        var lastProcessed: StreamID?
        private(set) var unprocessed = UnprocessedStreams()
        /// The unprocessed stream that the present frame belongs to.
        private var kept: StreamID?
        /// Whether that frame is DATA, and whether it ends the stream.
        private var (isData, isEnd) = (false, false)
        /// The name or the value of a field that is being read, if it is kept.
        private var text: [UInt8] = []
        private var isHuffman = false
        /// Whether the field's name is `:path`.
        private var isPath = false

        /// The encodings of the fields that the last read brought.
        private(set) var forms: ContiguousArray<(stream: StreamID, form: HeaderForm)> = []
        /// How many of them libnghttp2 has reported.
        private var reported = 0

        /// The largest shift when reading a number. A text of more than 2^28 bytes exceeds every limit.
        private static let maximumShift = 28
        private static let headBytes = 9
        private static let data: UInt8 = 0x0, headers: UInt8 = 0x1, continuation: UInt8 = 0x9
        /// Flags of HEADERS and DATA (RFC 9113, 6.1 and 6.2).
        private static let endStream: UInt8 = 0x1, padded: UInt8 = 0x8, priority: UInt8 = 0x20
        /// The indices of `:path` in the static table (RFC 7541, appendix A).
        private static let pathIndices = 4...5
        /// Longer texts are not kept: the longest path has fewer bytes.
        private static let maximumTextBytes = 1024

        /// Takes the received bytes. Call it before libnghttp2 gets them.
        mutating func read(_ bytes: UnsafeRawBufferPointer) {
            forms.removeAll(keepingCapacity: true)
            reported = 0
            var index = 0
            while index < bytes.count, !isLost { readPart(bytes, &index) }
        }

        /// The encoding of the field that libnghttp2 reports now.
        mutating func next(of stream: StreamID) -> HeaderForm? {
            while reported < forms.count {
                defer { reported += 1 }
                if forms[reported].stream == stream { return forms[reported].form }
            }
            return nil
        }

        private mutating func readPart(_ bytes: UnsafeRawBufferPointer, _ index: inout Int) {
            switch place {
            case .preface(let rest):
                let taken = min(rest, bytes.count - index)
                index += taken
                place = taken == rest ? .head : .preface(rest - taken)
            case .head:
                head.append(bytes[index])
                index += 1
                if head.count == Self.headBytes { begin() }
            case .beforeFragment(let skip, let hasPadding):
                guard remaining > 0 else { return endFrame() }
                if hasPadding { padding = Int(bytes[index]) }
                index += 1
                remaining -= 1
                place = skip > 1 ? .beforeFragment(skip: skip - 1, hasPadding: false) : .fragment
            case .fragment:
                guard remaining > padding else {
                    place = .rest
                    return
                }
                field(bytes[index])
                index += 1
                remaining -= 1
            case .rest:
                let taken = min(remaining, bytes.count - index)
                if let kept, isData { unprocessed.append(bytes[index..<index + taken], to: kept) }
                index += taken
                remaining -= taken
                if remaining == 0 { endFrame() }
            }
            if case .rest = place, remaining == 0 { endFrame() }
            if case .fragment = place, remaining == 0 { endFrame() }
        }

        private mutating func endFrame() {
            if let kept, isEnd { unprocessed.ended(kept) }
            kept = nil
            place = .head
            padding = 0
        }

        /// Handles a complete frame head.
        private mutating func begin() {
            remaining = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let (type, flags) = (head[3], head[4])
            let number = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7fff_ffff
            head.removeAll(keepingCapacity: true)
            padding = 0
            if lastProcessed != nil { keep(StreamID(Int32(bitPattern: number)), type: type, flags: flags) }
            switch type {
            case Self.headers:
                stream = StreamID(Int32(bitPattern: number))
                part = .start
                let skip = (flags & Self.padded != 0 ? 1 : 0) + (flags & Self.priority != 0 ? 5 : 0)
                place =
                    skip > 0
                    ? .beforeFragment(skip: skip, hasPadding: flags & Self.padded != 0) : .fragment
            case Self.continuation: place = .fragment
            default: place = .rest
            }
        }

        /// Handles a frame of a stream that may be above the last one.
        private mutating func keep(_ stream: StreamID, type: UInt8, flags: UInt8) {
            guard let lastProcessed, stream > lastProcessed, stream.rawValue % 2 == 1 else { return }
            if type == Self.headers { unprocessed.began(stream) }
            guard unprocessed.keeps(stream) else { return }
            switch type {
            case Self.data where flags & Self.padded != 0: unprocessed.forget(stream)
            case Self.headers, Self.data, Self.continuation:
                kept = stream
                isData = type == Self.data
                isEnd = type != Self.continuation && flags & Self.endStream != 0
            default: break
            }
        }

        // MARK: Fields

        private mutating func field(_ byte: UInt8) {
            switch part {
            case .start: begin(byte)
            case .index(let then): if continues(byte) { endIndex(then) }
            case .length(let then):
                beginNumber(byte, bits: 7)
                isHuffman = byte & 0x80 != 0
                text.removeAll(keepingCapacity: true)
                if number < 0x7f { endLength(then) } else { part = .lengthRest(then: then) }
            case .lengthRest(let then): if continues(byte) { endLength(then) }
            case .text(let then):
                number -= 1
                if kept != nil, text.count <= Self.maximumTextBytes { text.append(byte) }
                if number == 0 { endText(then) }
            }
        }

        /// Handles a complete name or value.
        private mutating func endText(_ then: Next) {
            if let kept, text.count <= Self.maximumTextBytes,
                let text = isHuffman ? HuffmanDecoder.decoded(text) : text
            {
                if then == .value { isPath = text.elementsEqual(":path".utf8) }
                if then == .end, isPath { unprocessed.setPath(text, of: kept) }
            }
            go(then)
        }

        private mutating func begin(_ byte: UInt8) {
            let bits: Int
            var then = Next.value
            if byte & 0x80 != 0 {
                (form, bits, then) = (.indexed, 7, .end)
            } else if byte & 0x40 != 0 {
                (form, bits) = (.incremental, 6)
            } else if byte & 0x20 != 0 {
                (bits, then) = (5, .noField)
            } else {
                (form, bits) = (byte & 0x10 != 0 ? .neverIndexed : .withoutIndexing, 4)
            }
            beginNumber(byte, bits: bits)
            if number < (1 << bits) - 1 { endIndex(then) } else { part = .index(then: then) }
        }

        /// Handles a complete index. If it is zero, the name follows as text.
        private mutating func endIndex(_ then: Next) {
            isPath = then == .value && Self.pathIndices.contains(number)
            go(then == .value && number == 0 ? .name : then)
        }

        private mutating func endLength(_ then: Next) {
            if number == 0 { endText(then) } else { part = .text(then: then) }
        }

        private mutating func go(_ next: Next) {
            switch next {
            case .name: part = .length(then: .value)
            case .value: part = .length(then: .end)
            case .end:
                forms.append((stream, form))
                part = .start
            case .noField: part = .start
            }
        }

        private mutating func beginNumber(_ byte: UInt8, bits: Int) {
            number = Int(byte) & ((1 << bits) - 1)
            shift = 0
        }

        /// - Returns: whether the number is complete.
        private mutating func continues(_ byte: UInt8) -> Bool {
            guard shift <= Self.maximumShift else {
                isLost = true
                return false
            }
            number += Int(byte & 0x7f) << shift
            shift += 7
            return byte & 0x80 == 0
        }
    }
#endif
