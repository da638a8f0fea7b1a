/// Writes values in the form of D-Bus, in little-endian order (the D-Bus Specification, "Marshalling").
struct BusWriter: Sendable, Hashable {
    var bytes: [UInt8] = []

    mutating func align(_ multiple: Int) {
        while !bytes.count.isMultiple(of: multiple) { bytes.append(0) }
    }

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    mutating func write(_ number: UInt32) {
        align(4)
        for shift in stride(from: UInt32(0), to: 32, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func write(_ number: Int64) {
        align(8)
        for shift in stride(from: Int64(0), to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    mutating func write(_ number: Int32) { write(UInt32(bitPattern: number)) }

    /// Writes a text. D-Bus allows no NUL character in it, and the bus closes a connection that sends one.
    mutating func write(_ text: String) {
        let characters = text.utf8.filter { $0 != 0 }
        write(UInt32(clamping: characters.count))
        bytes += characters
        bytes.append(0)
    }

    /// - Parameter signature: less than 256 characters.
    mutating func writeSignature(_ signature: String) {
        bytes.append(UInt8(clamping: signature.utf8.count))
        bytes += signature.utf8
        bytes.append(0)
    }

    /// Writes an array. Its length does not count the padding before its first element.
    mutating func writeArray(alignment: Int, _ elements: (inout BusWriter) -> Void) {
        write(UInt32(0))
        let place = bytes.count - 4
        align(alignment)
        let start = bytes.count
        elements(&self)
        let length = UInt32(clamping: bytes.count - start)
        // fits: 0 to 3
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: length >> (8 * UInt32(index))) }
    }

    /// Writes an entry of a dictionary from text to variants (`{sv}`).
    mutating func writeEntry(_ key: String, _ type: String, _ value: (inout BusWriter) -> Void) {
        align(8)
        write(key)
        writeSignature(type)
        value(&self)
    }
}

/// Reads values in the form of D-Bus. A function returns nil if the bytes end before the value does.
struct BusReader: Sendable, Hashable {
    let bytes: [UInt8]
    private(set) var position = 0
    var isBigEndian = false

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func align(_ multiple: Int) { position = (position + multiple - 1) / multiple * multiple }

    mutating func skip(_ count: Int) { position += count }

    mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    mutating func number() -> UInt32? {
        align(4)
        guard position + 4 <= bytes.count else { return nil }
        defer { position += 4 }
        let four = bytes[position..<position + 4]
        return (isBigEndian ? Array(four) : four.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
    }

    mutating func text() -> String? {
        guard let length = number() else { return nil }
        return characters(Int(length))  // fits: 32 bits
    }

    mutating func signature() -> String? {
        guard let length = byte() else { return nil }
        return characters(Int(length))  // fits: a byte
    }

    /// An array of texts (`as`).
    mutating func texts() -> [String]? {
        guard let length = number(), Int(length) <= bytes.count - position else { return nil }  // fits: 32 bits
        let end = position + Int(length)  // fits: 32 bits
        var texts: [String] = []
        while position < end {
            guard let text = text() else { return nil }
            texts.append(text)
        }
        return texts
    }

    /// The characters, and the zero byte after them.
    private mutating func characters(_ count: Int) -> String? {
        guard count < bytes.count - position else { return nil }
        defer { position += count + 1 }
        return String(decoding: bytes[position..<position + count], as: UTF8.self)
    }
}
