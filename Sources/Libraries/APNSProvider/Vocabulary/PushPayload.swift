import Foundation
import NIOCore
import Notifications

/// The encoded payload of a notification. Its bytes are exactly what is sent, so its size is known.
///
/// You can send one payload to any number of devices. They share its bytes.
public struct PushPayload: Sendable, Hashable {
    let buffer: ByteBuffer
    /// The kinds of keys in the `aps` dictionary, such as an alert or a badge.
    let contents: Payload.Contents
    /// Whether the `aps` dictionary has a category.
    let hasCategory: Bool

    /// The size of the payload, in bytes.
    public var count: Int { buffer.readableBytes }

    /// The payload as a JSON dictionary in UTF-8, without white space between its tokens.
    public var json: [UInt8] { Array(buffer.readableBytesView) }

    /// Creates a payload with only an `aps` dictionary.
    /// - Throws: ``ProviderError/Code/badNotification`` if the dictionary breaks a rule of the Guide: a category
    ///   without an alert (2.2.3), or a number outside its range.
    public init(_ aps: APS) throws(ProviderError) {
        try self.init(aps: aps, members: [])
    }

    /// Creates a payload with an `aps` dictionary and keys of your own beside it.
    /// - Parameters:
    ///   - aps: the `aps` dictionary.
    ///   - custom: a value that encodes to a JSON dictionary without a key `aps`.
    /// - Throws: ``ProviderError/Code/badNotification`` if a rule is broken, or if `custom` does not encode to such
    ///   a dictionary.
    public init(_ aps: APS, custom: some Encodable) throws(ProviderError) {
        let json = try Self.encode(custom)
        guard let object = JSONObject(json, .ofPayload) else {
            throw ProviderError(.badNotification, "The keys beside aps must encode to a JSON dictionary.")
        }
        guard object[raw: "aps"] == nil else {
            throw ProviderError(.badNotification, "The keys beside aps must not be called aps themselves.")
        }
        try self.init(aps: aps, members: json.dropFirst().dropLast())
    }

    /// Creates a payload from JSON. White space between its tokens is removed.
    /// - Throws: ``ProviderError/Code/badNotification`` unless it is a JSON dictionary in UTF-8 that follows the
    ///   Guide's rules.
    public init(json: some Collection<UInt8>) throws(ProviderError) {
        let payload: Payload
        do {
            payload = try Payload(Array(json))
        } catch {
            throw ProviderError(.badNotification, error.description)
        }
        buffer = ByteBuffer(bytes: payload.json)
        contents = payload.contents
        hasCategory = Self.member("category", ofAPSIn: payload.json)
        try checkCategory()
    }

    private init(aps: APS, members: some Collection<UInt8>) throws(ProviderError) {
        try Self.check(aps)
        var json = Array(#"{"aps":"#.utf8) + (try aps.json())
        if !members.isEmpty {
            json.append(UInt8(ascii: ","))
            json.append(contentsOf: members)
        }
        json.append(UInt8(ascii: "}"))
        if !aps.other.isEmpty || aps.alert?.other.isEmpty == false { try Self.checkDepth(json) }
        var contents: Payload.Contents = [.aps]
        if aps.alert != nil { contents.insert(.alert) }
        if aps.badge != nil { contents.insert(.badge) }
        if aps.sound != nil { contents.insert(.sound) }
        if aps.contentAvailable { contents.insert(.contentAvailable) }
        buffer = ByteBuffer(bytes: json)
        self.contents = contents
        hasCategory = aps.category != nil
        try checkCategory()
    }

    /// Whether the payload is silent: it wakes the app, and shows and plays nothing (Guide, 2.2.2).
    public var isSilent: Bool {
        contents.contains(.contentAvailable) && contents.isDisjoint(with: [.alert, .badge, .sound])
    }

    /// "Notifications configured with a category must also be configured to display an alert" (Guide, 2.2.3).
    private func checkCategory() throws(ProviderError) {
        guard !hasCategory || contents.contains(.alert) else {
            throw ProviderError(.badNotification, "A category needs an alert (Guide, 2.2.3).")
        }
    }

    private static func check(_ aps: APS) throws(ProviderError) {
        if let badge = aps.badge, badge < 0 {
            throw ProviderError(.badNotification, "The badge is 0 or a positive number, not \(badge).")
        }
        if let score = aps.relevanceScore {
            guard score.isFinite else { throw ProviderError(.badNotification, "The relevance score is not a number.") }
            guard aps.liveActivity != nil || (0...1).contains(score) else {
                throw ProviderError(.badNotification, "The relevance score is a number from 0 to 1.")
            }
        }
        if let activity = aps.liveActivity { try check(activity) }
        if let volume = aps.sound?.volume, !(0...1).contains(volume) {
            throw ProviderError(.badNotification, "The volume is a number from 0 to 1.")
        }
    }

    private static func check(_ activity: APS.LiveActivity) throws(ProviderError) {
        guard activity.event == .start else {
            guard activity.updates == nil else {
                throw ProviderError(.badNotification, "Only a push that starts a Live Activity says how it is updated.")
            }
            return
        }
        guard activity.attributesType != nil, activity.attributes != nil, activity.contentState != nil else {
            throw ProviderError(
                .badNotification, "A Live Activity starts with its attributes, their type and its content state.")
        }
        if case .channel(let id)? = activity.updates, ChannelID(rawValue: id) == nil {
            throw ProviderError(.badNotification, "The channel's identifier is not base64 of at most 64 characters.")
        }
    }

    /// Refuses values of the caller that are nested more deeply than the service accepts.
    private static func checkDepth(_ json: [UInt8]) throws(ProviderError) {
        do {
            _ = try Payload(json)
        } catch {
            throw ProviderError(.badNotification, error.description)
        }
    }

    private static func member(_ key: String, ofAPSIn json: [UInt8]) -> Bool {
        JSONObject(json, .ofPayload)?[object: "aps"]?[raw: key] != nil
    }

    /// Encodes a value as JSON without white space and without escaped slashes, with sorted keys.
    static func encode(_ value: some Encodable) throws(ProviderError) -> [UInt8] {
        do {
            let json = try JSONValue(encoding: value, special: special)
            guard json.isWritable else {
                throw ProviderError(.badNotification, "The keys of your own have a number that JSON cannot write.")
            }
            return Array(json.text.utf8)
        } catch let error as ProviderError {
            throw error
        } catch {
            throw ProviderError(.badNotification, "The keys of your own cannot be encoded: \(error)")
        }
    }

    /// The JSON of Foundation's types, as its own encoder writes it.
    private static func special(_ value: any Encodable) -> JSONValue? {
        switch value {
        case let data as Data: .string(data.base64EncodedString())
        case let url as URL: .string(url.absoluteString)
        case let decimal as Decimal: JSONNumber("\(decimal)").map(JSONValue.number)
        default: nil
        }
    }
}
