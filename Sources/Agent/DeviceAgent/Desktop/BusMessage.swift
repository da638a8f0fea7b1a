import NIOCore

/// A message of D-Bus (the D-Bus Specification, "Message Protocol"), as far as this program needs it.
struct BusMessage: Sendable, Hashable {
    enum Kind: UInt8, Sendable, Hashable {
        case call = 1
        case answer = 2
        case error = 3
        case signal = 4
    }

    /// The numbers of the header fields.
    private enum Field {
        static let path: UInt8 = 1
        static let interface: UInt8 = 2
        static let member: UInt8 = 3
        static let errorName: UInt8 = 4
        static let replySerial: UInt8 = 5
        static let destination: UInt8 = 6
        static let sender: UInt8 = 7
        static let signature: UInt8 = 8
    }

    /// The largest message that is read. Those of the notification service have some hundred bytes; the specification
    /// allows 128 MiB.
    static let maximumBytes = 1 << 20
    /// The size of the part of a message before its header fields.
    static let fixedBytes = 12
    /// The flag of a call whose caller wants no answer.
    private static let noReplyExpected: UInt8 = 1

    var kind: Kind
    var serial: UInt32 = 0
    var replySerial: UInt32?
    var destination: String?
    /// The unique name of the connection that has sent it. The bus sets it, so nobody can lie about it.
    var sender: String?
    /// Whether a call is to be answered.
    var expectsAnswer = true
    var path: String?
    var interface: String?
    var member: String?
    var errorName: String?
    var signature = ""
    var body = BusWriter()

    /// A call of a method.
    static func call(_ destination: String, _ path: String, _ interface: String, _ member: String) -> BusMessage {
        BusMessage(kind: .call, destination: destination, path: path, interface: interface, member: member)
    }

    /// The message in little-endian order.
    var bytes: [UInt8] {
        var fields = BusWriter()
        func add(_ number: UInt8, _ type: String, _ write: (inout BusWriter) -> Void) {
            fields.align(8)
            fields.write(number)
            fields.writeSignature(type)
            write(&fields)
        }
        if let path { add(Field.path, "o") { $0.write(path) } }
        if let interface { add(Field.interface, "s") { $0.write(interface) } }
        if let member { add(Field.member, "s") { $0.write(member) } }
        if let errorName { add(Field.errorName, "s") { $0.write(errorName) } }
        if let replySerial { add(Field.replySerial, "u") { $0.write(replySerial) } }
        if let destination { add(Field.destination, "s") { $0.write(destination) } }
        if !signature.isEmpty { add(Field.signature, "g") { $0.writeSignature(signature) } }
        var message = BusWriter()
        message.bytes = [UInt8(ascii: "l"), kind.rawValue, expectsAnswer ? 0 : Self.noReplyExpected, 1]
        message.write(UInt32(body.bytes.count))  // fits: the body of a message of our own, some KB
        message.write(serial)
        message.write(UInt32(fields.bytes.count))  // fits: the fields of a message of our own, some hundred bytes
        // The fields begin after 16 bytes, so their own alignment is right.
        message.bytes += fields.bytes
        message.align(8)
        return message.bytes + body.bytes
    }

    /// The length of the message at the beginning of the bytes.
    /// - Returns: nil if there are too few bytes to know it.
    /// - Throws: if it is not a message, or too long.
    static func length(of bytes: some Collection<UInt8>) throws(BusError) -> Int? {
        guard bytes.count >= fixedBytes + 4 else { return nil }
        var reader = BusReader(Array(bytes.prefix(fixedBytes + 4)))
        guard let order = reader.byte() else { return nil }
        reader.isBigEndian = order == UInt8(ascii: "B")
        guard reader.isBigEndian || order == UInt8(ascii: "l") else { throw BusError("the bus does not speak D-Bus") }
        reader.skip(3)
        guard let body = reader.number(), reader.number() != nil, let fields = reader.number() else { return nil }
        guard body <= maximumBytes, fields <= maximumBytes else { throw BusError("a message of the bus is too long") }
        return fixedBytes + 4 + (Int(fields) + 7) / 8 * 8 + Int(body)  // fits: both are at most maximumBytes
    }

    /// Reads a whole message.
    /// - Returns: nil if it cannot be read, or is of a kind that does not matter.
    static func read(_ bytes: [UInt8]) -> (message: BusMessage, body: BusReader)? {
        var reader = BusReader(bytes)
        reader.isBigEndian = reader.byte() == UInt8(ascii: "B")
        guard let kind = reader.byte().flatMap(Kind.init(rawValue:)) else { return nil }
        guard let flags = reader.byte() else { return nil }
        reader.skip(1)
        guard let bodyBytes = reader.number(), let serial = reader.number(), let fieldBytes = reader.number() else {
            return nil
        }
        var message = BusMessage(kind: kind, serial: serial)
        message.expectsAnswer = flags & noReplyExpected == 0
        let end = fixedBytes + 4 + Int(fieldBytes)  // fits: 32 bits
        while reader.position < end {
            reader.align(8)
            guard let number = reader.byte(), let type = reader.signature() else { return nil }
            switch type {
            case "s", "o":
                guard let text = reader.text() else { return nil }
                message.set(number, text)
            case "u":
                guard let value = reader.number() else { return nil }
                if number == Field.replySerial { message.replySerial = value }
            case "g":
                guard let text = reader.signature() else { return nil }
                if number == Field.signature { message.signature = text }
            // A field of another type is none that this program knows; its length is not known either.
            default: return nil
            }
        }
        reader.align(8)
        guard reader.position + Int(bodyBytes) == bytes.count else { return nil }  // fits: 32 bits
        // Alignment in the body counts from its beginning, which is a multiple of 8.
        var body = BusReader(Array(bytes[reader.position...]))
        body.isBigEndian = reader.isBigEndian
        return (message, body)
    }

    private mutating func set(_ field: UInt8, _ text: String) {
        switch field {
        case Field.path: path = text
        case Field.interface: interface = text
        case Field.member: member = text
        case Field.errorName: errorName = text
        case Field.destination: destination = text
        case Field.sender: sender = text
        default: break
        }
    }
}

/// Why the desktop's bus cannot be used.
struct BusError: Error, Sendable, Hashable, CustomStringConvertible {
    let description: String
    init(_ cause: String) { description = cause }
}
