/// The position of a record in the log's files. It is valid until its file is removed.
package struct LogPosition: Sendable, Hashable, CustomStringConvertible {
    /// The name of the file: the time when it was begun, in milliseconds since 1970.
    let file: UInt64
    /// The offset of the record's block in the file, in bytes.
    let block: Int
    /// The record's index in the block.
    let index: Int

    init(file: UInt64, block: Int, index: Int) {
        self.file = file
        self.block = block
        self.index = index
    }

    /// The greatest offset and index of a position from outside: 256 TiB and two thousand million records, more than any
    /// file has. The reader adds to both, which must not overflow.
    static let maximumBlock = 1 << 48
    static let maximumIndex = Int(Int32.max)

    /// - Parameter text: a position in the form of ``description``.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let file = UInt64(parts[0]), let block = Int(parts[1]), let index = Int(parts[2]),
            (0...Self.maximumBlock).contains(block), (0...Self.maximumIndex).contains(index)
        else { return nil }
        self.init(file: file, block: block, index: index)
    }

    package var description: String { "\(file)-\(block)-\(index)" }
}
