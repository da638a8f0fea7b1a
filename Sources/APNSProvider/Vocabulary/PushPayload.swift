import Foundation
import NIOCore
import Notifications

/// A notification's payload, encoded: the bytes that will be sent, and so their number, are known from here on.
///
/// Make one, and send it to as many devices as you like: they share its bytes.
public struct PushPayload: Sendable, Hashable {
    let buffer: ByteBuffer
    /// What its `aps` dictionary holds.
    let contents: Payload.Contents
    /// There is a category in its `aps` dictionary.
    let hasCategory: Bool

    /// In bytes, of what is sent.
    public var count: Int { buffer.readableBytes }

    /// The JSON dictionary, without white space between its tokens; UTF-8.
    public var json: [UInt8] { Array(buffer.readableBytesView) }

    /// A payload with an `aps` dictionary alone.
    /// - Throws: ``ProviderError/Code/badNotification`` when the dictionary breaks a rule of the Guide: a category
    ///   without an alert (2.2.3), or a number outside of its range.
    public init(_ aps: APS) throws(ProviderError) {
        try self.init(aps: aps, members: [])
    }

    /// A payload with an `aps` dictionary and keys of your own beside it.
    /// - Parameters:
    ///   - aps: the dictionary.
    ///   - custom: encodes to a JSON dictionary without a key `aps`.
    /// - Throws: ``ProviderError/Code/badNotification`` when a rule is broken, or when `custom` is no such dictionary.
    public init(_ aps: APS, custom: some Encodable) throws(ProviderError) {
        let json = try Self.encode(custom)
        guard let object = JSONObject(json) else {
            throw ProviderError(.badNotification, "The keys beside aps must encode to a JSON dictionary.")
        }
        guard object[raw: "aps"] == nil else {
            throw ProviderError(.badNotification, "The keys beside aps must not be called aps themselves.")
        }
        try self.init(aps: aps, members: json.dropFirst().dropLast())
    }

    /// A payload that is JSON already. White space between its tokens is left out.
    /// - Throws: ``ProviderError/Code/badNotification`` unless it is a JSON dictionary in UTF-8 that holds to the rules.
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

    /// Whether it wakes the app, and shows and plays nothing (Guide, 2.2.2).
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
            throw ProviderError(.badNotification, "The badge is a number from 0 on, not \(badge).")
        }
        if let score = aps.relevanceScore, !(0...1).contains(score) {
            throw ProviderError(.badNotification, "The relevance score lies between 0 and 1.")
        }
        if let volume = aps.sound?.volume, !(0...1).contains(volume) {
            throw ProviderError(.badNotification, "The volume lies between 0 and 1.")
        }
    }

    /// Values of the caller's may lie deeper in each other than the service takes.
    private static func checkDepth(_ json: [UInt8]) throws(ProviderError) {
        do {
            _ = try Payload(json)
        } catch {
            throw ProviderError(.badNotification, error.description)
        }
    }

    private static func member(_ key: String, ofAPSIn json: [UInt8]) -> Bool {
        JSONObject(json)?[object: "aps"]?[raw: key] != nil
    }

    /// JSON as Foundation writes it: without white space, slashes left as they are.
    static func encode(_ value: some Encodable) throws(ProviderError) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        do {
            return Array(try encoder.encode(value))
        } catch {
            throw ProviderError(.badNotification, "The keys of your own cannot be encoded: \(error)")
        }
    }
}
