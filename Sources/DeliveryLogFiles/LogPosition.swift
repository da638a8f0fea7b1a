/// Where a record is in the log's files: good for as long as its file is kept.
package struct LogPosition: Sendable, Hashable, CustomStringConvertible {
    /// When the file was begun, in milliseconds since 1970: its name.
    let file: UInt64
    /// Where the record's block begins in the file, in bytes.
    let block: Int
    /// How many records of the block stand before it.
    let index: Int

    init(file: UInt64, block: Int, index: Int) {
        self.file = file
        self.block = block
        self.index = index
    }

    /// - Parameter text: as ``description`` has it.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 3, let file = UInt64(parts[0]), let block = Int(parts[1]), let index = Int(parts[2]),
            block >= 0, index >= 0
        else { return nil }
        self.init(file: file, block: block, index: index)
    }

    package var description: String { "\(file)-\(block)-\(index)" }
}
