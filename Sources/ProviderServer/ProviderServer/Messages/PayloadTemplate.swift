import APNSProvider
import HTTPAPI
import Notifications
import CampaignStore

/// The payload of a message. Its texts may contain names, which are replaced by the recipient's values.
struct PayloadTemplate: Sendable {
    /// A JSON value whose texts are already parsed as templates.
    fileprivate indirect enum Node: Sendable {
        case constant(JSONValue)
        case text(TemplateText)
        /// A number on the app's icon that differs from the present one by this.
        case badge(Int64)
        case array([Node])
        case object([(key: String, node: Node)])
    }

    private let root: Node
    /// The texts by language and name. Each recipient gets the texts that fit their languages.
    private let texts: Localized<[ExactText: TemplateText]>
    private let defaults: JSONMembers
    /// The payload, if all recipients get the same one.
    let shared: PushPayload?
    /// By how much the payload changes the number on the app's icon; 0 if it does not count.
    let badgeChange: Int64

    /// - Parameters:
    ///   - payload: the payload as the request has it.
    ///   - texts: by language, then by name.
    ///   - fallback: the language of the texts for users whose own languages have no texts.
    ///   - defaults: values for recipients that have none of their own.
    init(
        _ payload: JSONValue,
        at pointer: String,
        texts: [String: [ExactText: TemplateText]],
        fallback: String,
        defaults: JSONMembers,
    ) throws(Problem) {
        guard payload.text.utf8.count <= ProviderServerLimits.templateBytes else {
            throw .invalid(
                pointer, "The payload may have \(ProviderServerLimits.templateBytes) bytes before it is filled.")
        }
        root = try Self.read(payload, at: pointer, badge: pointer + "/aps/badge")
        badgeChange = root.badgeChange
        self.texts = Localized(texts, fallback: texts[fallback] ?? [:])
        self.defaults = defaults
        guard case .constant(let value) = root else {
            shared = nil
            return
        }
        do throws(ProviderError) {
            shared = try PushPayload(json: Array(value.text.utf8))
        } catch {
            throw .invalid(pointer, error.cause)
        }
    }

    /// By how much a badge may count. Both have a sign.
    private static let badgeChanges: ClosedRange<Int64> = -1_000...1_000

    /// - Parameter badge: the place of the number on the app's icon, which may also be `+1`.
    private static func read(_ value: JSONValue, at pointer: String, badge: String) throws(Problem) -> Node {
        switch value {
        case .null, .bool, .integer, .number: return .constant(value)
        case .string(let text) where pointer == badge && (text.hasPrefix("+") || text.hasPrefix("-")):
            guard let change = Int64(text), badgeChanges.contains(change), change != 0 else {
                throw .invalid(
                    pointer,
                    "A badge that counts is +1 to +\(badgeChanges.upperBound), or -1 to \(badgeChanges.lowerBound).")
            }
            return .badge(change)
        case .string(let text):
            do throws(TemplateText.Fault) {
                let template = try TemplateText(text)
                return template.constant.map { .constant(.string($0)) } ?? .text(template)
            } catch {
                throw .invalid(pointer, error.cause)
            }
        case .array(let values):
            var nodes: [Node] = []
            for (index, value) in values.enumerated() {
                nodes.append(try read(value, at: "\(pointer)/\(index)", badge: badge))
            }
            // Not the value itself: braces that are escaped in it are not in its constant texts.
            let constants = nodes.compactMap(\.constant)
            return constants.count == nodes.count ? .constant(.array(constants)) : .array(nodes)
        case .object(let values):
            var nodes: [(key: String, node: Node)] = []
            for (name, value) in values {
                nodes.append((name, try read(value, at: "\(pointer)/\(JSONValue.escaped(name))", badge: badge)))
            }
            let constants = nodes.compactMap { pair in pair.node.constant.map { (key: pair.key, value: $0) } }
            return constants.count == nodes.count ? .constant(.object(JSONMembers(lastOf: constants))) : .object(nodes)
        }
    }

    /// Makes the payload for one recipient.
    /// - Parameters:
    ///   - own: values for this recipient. They come before the installation's values.
    ///   - message: the identifier of the message, which the payload then has; nil for none.
    /// - Throws: ``MissingValue`` if there is no value for a name; ``TextTooLarge`` or ``ProviderError`` if the payload
    ///   breaks a rule.
    func payload(
        for installation: Installation,
        own: JSONMembers,
        adding message: String? = nil,
    ) throws -> PushPayload {
        if let shared, message == nil { return shared }
        let texts = texts.best(for: installation.languages)
        let stored = installation.allValues
        func value(_ name: String) -> JSONValue? { own[name] ?? stored[name] ?? defaults[name] }
        // A payload may name a text thousands of times, so each text is made only once.
        var made: [String: JSONValue] = [:]
        var left = Payload.maximumVoIPBytes
        var json = try Self.render(root, &left, installation.badge) { name in
            // A text of the message may contain names. A value is never parsed as a template.
            guard let text = texts[ExactText(name)] else { return value(name) }
            if let known = made[name] { return known }
            let new = try text.render { value($0) }
            made[name] = new
            return new
        }
        if let message, case .object(var members) = json {
            members[Self.messageKey] = .string(message)
            json = .object(members)
        }
        return try PushPayload(json: Array(json.text.utf8))
    }

    /// The key of the payload under which an app finds the identifier of the message.
    static let messageKey = "carillon-message"

    /// - Parameters:
    ///   - left: how many bytes the texts may still have. A few long values could otherwise make a payload of gigabytes,
    ///     before anybody measures it.
    ///   - badge: the present number on the app's icon.
    private static func render(
        _ node: Node,
        _ left: inout Int,
        _ badge: Int64,
        _ value: (String) throws -> JSONValue?,
    ) throws -> JSONValue {
        switch node {
        case .constant(let constant): return constant
        case .badge(let change): return .integer(min(max(0, badge + change), Installation.maximumBadge))
        case .text(let text):
            let made = try text.render(value)
            if case .string(let text) = made { left -= text.utf8.count }
            guard left >= 0 else { throw TextTooLarge() }
            return made
        case .array(let nodes):
            var values: [JSONValue] = []
            for node in nodes { values.append(try render(node, &left, badge, value)) }
            return .array(values)
        case .object(let nodes):
            var values: [(key: String, value: JSONValue)] = []
            for (name, node) in nodes { values.append((name, try render(node, &left, badge, value))) }
            return .object(JSONMembers(lastOf: values))
        }
    }
}

extension PayloadTemplate.Node {
    /// The value, if all recipients get the same; nil otherwise.
    fileprivate var constant: JSONValue? { if case .constant(let value) = self { value } else { nil } }

    /// By how much it changes the number on the app's icon.
    fileprivate var badgeChange: Int64 {
        func member(_ key: String, of nodes: [(key: String, node: Self)]) -> Self? {
            nodes.first { $0.key == key }?.node
        }
        guard case .object(let members) = self, case .object(let aps)? = member("aps", of: members),
            case .badge(let change)? = member("badge", of: aps)
        else { return 0 }
        return change
    }
}
