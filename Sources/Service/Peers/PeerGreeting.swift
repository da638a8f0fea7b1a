import Delivery
import HTTP2
import Notifications

/// The first message on a connection. Each node tells its identity, the origin that names its offers, and whether it
/// understands broadcasts, barriers, questions about devices and Web Push. Nodes of an earlier release do not, and they would end the
/// connection.
struct PeerGreeting: Sendable {
    private static let path = "/1/peer"

    private var nodeText = ""
    private var originText = ""
    private var isGreeting = false
    private(set) var takesBroadcasts = false
    private(set) var takesBarriers = false
    private(set) var answersDeviceQuestions = false
    /// Whether it knows Web Push. To another node, a message would be one for the app itself.
    private(set) var takesSubscriptions = false

    /// Creates an empty greeting, which the fields of a message fill.
    init() {}

    init(node: NodeID, origin: OfferOrigin) {
        nodeText = Hexadecimal.string(node.bytes)
        originText = Hexadecimal.string(withUnsafeBytes(of: origin.rawValue.bigEndian) { Array($0) })
    }

    var node: NodeID { NodeID(bytes: Hexadecimal.bytes(nodeText) ?? []) }

    var request: FieldList {
        var block = FieldList()
        block.append(":method", "POST")
        block.append(":scheme", "https")
        block.append(":authority", "localhost")
        block.append(":path", Self.path)
        append(to: &block)
        return block
    }

    var answer: FieldList {
        var block = FieldList()
        block.append(":status", "200")
        append(to: &block)
        return block
    }

    private func append(to block: inout FieldList) {
        block.append("carillon-node", nodeText)
        block.append("carillon-origin", originText)
        block.append("carillon-broadcasts", "1")
        block.append("carillon-barriers", "1")
        block.append("carillon-devices", "1")
        block.append("carillon-web-push", "1")
    }

    mutating func read(name: Span<UInt8>, value: Span<UInt8>) {
        if name.isEqual(to: "carillon-node") { nodeText = value.text }
        if name.isEqual(to: "carillon-origin") { originText = value.text }
        if name.isEqual(to: "carillon-broadcasts") { takesBroadcasts = value.isEqual(to: "1") }
        if name.isEqual(to: "carillon-barriers") { takesBarriers = value.isEqual(to: "1") }
        if name.isEqual(to: "carillon-devices") { answersDeviceQuestions = value.isEqual(to: "1") }
        if name.isEqual(to: "carillon-web-push") { takesSubscriptions = value.isEqual(to: "1") }
        if name.isEqual(to: ":path") { isGreeting = value.text == Self.path }
        if name.isEqual(to: ":status") { isGreeting = value.isEqual(to: "200") }
    }

    /// The node and its origin; nil if the message is not a node's greeting.
    var contents: (NodeID, OfferOrigin)? {
        guard isGreeting, let node = Hexadecimal.bytes(nodeText), (1...64).contains(node.count),
            let origin = Hexadecimal.bytes(originText), origin.count == 8
        else { return nil }
        return (NodeID(bytes: node), OfferOrigin(rawValue: origin.reduce(0) { $0 << 8 | UInt64($1) }))
    }
}
