import CNghttp2

/// Pieces of memory that somebody is about to go through, to be asked for all at once.
///
/// Where there are thousands of sessions, what belongs to one of them has not been looked at for long, and lies far from the
/// processor. Whoever goes through it waits for one line of memory after the other; asked for beforehand, they come together.
///
/// A list holds on to nothing. What has gone meanwhile is asked for in vain, which does nothing: no address is read, and
/// none is wrong.
package struct PrefetchList: Sendable {
    /// In bytes: what a processor fetches at a time. Where it is more, some are asked for twice.
    private static let lineBytes: UInt = 64
    /// How long one piece can be.
    private static let maxLines: UInt = 255

    /// Each the number of its first line, times 256, and how many lines it has: lists are gone through with every push,
    /// and are to be short themselves.
    private var pieces = InlineArray<18, UInt>(repeating: 0)
    private var count = 0

    /// A list of nothing.
    package init() {}

    /// Adds a piece. What the list has no room for is left out.
    mutating func add(_ start: UnsafeRawPointer?, bytes: Int) {
        guard let start, bytes > 0, count < pieces.count else { return }
        let address = UInt(bitPattern: start)
        let (first, last) = (address / Self.lineBytes, (address &+ UInt(bytes) &- 1) / Self.lineBytes)
        pieces[count] = first << 8 | min(last &- first &+ 1, Self.maxLines)
        count += 1
    }

    /// Adds the beginning of an object.
    mutating func add(_ object: AnyObject?, bytes: Int) {
        add(object.map { UnsafeRawPointer(Unmanaged.passUnretained($0).toOpaque()) }, bytes: bytes)
    }

    /// Adds another list.
    mutating func add(_ list: PrefetchList) {
        for index in 0..<list.count where count < pieces.count {
            pieces[count] = list.pieces[index]
            count += 1
        }
    }

    /// Asks for all of it, and waits for nothing.
    package func prefetch() {
        forEachLine { carillon_prefetch(UnsafeRawPointer(bitPattern: $0)) }
    }

    /// Each line's address.
    @inline(__always)
    func forEachLine(_ body: (UInt) -> Void) {
        // The array's own subscript copies all of it each time (Swift 6.3).
        let pieces = pieces.span
        for index in 0..<count {
            let piece = pieces[index]
            var line = (piece >> 8) &* Self.lineBytes
            for _ in 0..<(piece & Self.maxLines) {
                body(line)
                line &+= Self.lineBytes
            }
        }
    }
}
