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
        case array([Node])
        case object([String: Node])
    }

    private let root: Node
    /// The texts by language and name. Each recipient gets the texts that fit their languages.
    private let texts: Localized<[String: TemplateText]>
    private let defaults: [String: JSONValue]
    /// The payload, if all recipients get the same one.
    let shared: PushPayload?

    /// - Parameters:
    ///   - payload: the payload as the request has it.
    ///   - texts: by language, then by name.
    ///   - fallback: the language of the texts for users whose own languages have no texts.
    ///   - defaults: values for recipients that have none of their own.
    init(
        _ payload: JSONValue,
        at pointer: String,
        texts: [String: [String: TemplateText]],
        fallback: String,
        defaults: [String: JSONValue],
    ) throws(Problem) {
        guard payload.text.utf8.count <= ProviderServerLimits.templateBytes else {
            throw .invalid(
                pointer, "The payload may have \(ProviderServerLimits.templateBytes) bytes before it is filled.")
        }
        root = try Self.read(payload, at: pointer)
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

    private static func read(_ value: JSONValue, at pointer: String) throws(Problem) -> Node {
        switch value {
        case .null, .bool, .integer, .number: return .constant(value)
        case .string(let text):
            do throws(TemplateText.Fault) {
                let template = try TemplateText(text)
                return template.isConstant ? .constant(value) : .text(template)
            } catch {
                throw .invalid(pointer, error.cause)
            }
        case .array(let values):
            var nodes: [Node] = []
            for (index, value) in values.enumerated() { nodes.append(try read(value, at: "\(pointer)/\(index)")) }
            return nodes.allSatisfy(\.isConstant) ? .constant(value) : .array(nodes)
        case .object(let values):
            var nodes: [String: Node] = [:]
            for (name, value) in values {
                nodes[name] = try read(value, at: "\(pointer)/\(JSONValue.escaped(name))")
            }
            return nodes.values.allSatisfy(\.isConstant) ? .constant(value) : .object(nodes)
        }
    }

    /// Makes the payload for one recipient.
    /// - Parameter own: values for this recipient. They come before the installation's values.
    /// - Throws: ``MissingValue`` if there is no value for a name; ``TextTooLarge`` or ``ProviderError`` if the payload
    ///   breaks a rule.
    func payload(for installation: Installation, own: [String: JSONValue]) throws -> PushPayload {
        if let shared { return shared }
        let texts = texts.best(for: installation.languages)
        func value(_ name: String) -> JSONValue? { own[name] ?? installation.values[name] ?? defaults[name] }
        // A payload may name a text thousands of times, so each text is made only once.
        var made: [String: JSONValue] = [:]
        var left = Payload.maximumVoIPBytes
        let json = try Self.render(root, &left) { name in
            // A text of the message may contain names. A value is never parsed as a template.
            guard let text = texts[name] else { return value(name) }
            if let known = made[name] { return known }
            let new = try text.render { value($0) }
            made[name] = new
            return new
        }
        return try PushPayload(json: Array(json.text.utf8))
    }

    /// - Parameter left: how many bytes the texts may still have. A few long values could otherwise make a payload of
    ///   gigabytes, before anybody measures it.
    private static func render(
        _ node: Node,
        _ left: inout Int,
        _ value: (String) throws -> JSONValue?,
    ) throws -> JSONValue {
        switch node {
        case .constant(let constant): return constant
        case .text(let text):
            let made = try text.render(value)
            if case .string(let text) = made { left -= text.utf8.count }
            guard left >= 0 else { throw TextTooLarge() }
            return made
        case .array(let nodes):
            var values: [JSONValue] = []
            for node in nodes { values.append(try render(node, &left, value)) }
            return .array(values)
        case .object(let nodes):
            var values: [String: JSONValue] = [:]
            for (name, node) in nodes { values[name] = try render(node, &left, value) }
            return .object(values)
        }
    }
}

extension PayloadTemplate.Node {
    fileprivate var isConstant: Bool { if case .constant = self { true } else { false } }
}
