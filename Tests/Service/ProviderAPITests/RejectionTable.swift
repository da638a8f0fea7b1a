import Crypto
import Foundation

@testable import ServiceTesting

/// All ways in which a request is rejected (Guide, Tables 8-1, 8-2 and 8-6, and newer facts).
enum RejectionTable {
    static let rows = shape + credentials + fields + topics + deviceTokens + payloads + order

    /// Faults of the request's form.
    private static let shape: [FaultyRequest] = [
        .init("GET", 405, "MethodNotAllowed") { push, _, _ in
            push.method = "GET"
            push.body = nil
        },
        .init("PUT", 405, "MethodNotAllowed") { push, _, _ in push.method = "PUT" },
        .init("DELETE", 405, "MethodNotAllowed") { push, _, _ in push.method = "DELETE" },
        .init(path: "/", 404, "BadPath"),
        .init(path: "/3", 404, "BadPath"),
        .init(path: "/3/devices/00", 404, "BadPath"),
        .init("another version in the path", 404, "BadPath") { push, _, _ in
            push.path = push.path.replacingOccurrences(of: "/3/", with: "/2/")
        },
        .init("a path that goes on", 404, "BadPath") { push, _, _ in push.path += "/more" },
        .init(path: "/3/device", 400, "MissingDeviceToken"),
        .init(path: "/3/device/", 400, "MissingDeviceToken"),
        .init(twice: "authorization"),
        .init(twice: "apns-topic"),
        .init(twice: "apns-id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ab"),
        .init(twice: "apns-expiration", "0"),
        .init(twice: "apns-priority", "5"),
        .init(twice: "apns-collapse-id", "score"),
        .init(twice: "apns-push-type", "alert"),
    ]

    /// Faults of the credentials.
    private static let credentials: [FaultyRequest] = [
        .init("authorization", nil, 403, "MissingProviderToken"),
        .init("authorization", "", 403, "MissingProviderToken"),
        .init("authorization", "bearer", 403, "MissingProviderToken"),
        // From a variable that is not set. HTTP/2 allows no blank at the end of a value (RFC 9113, 8.2.1), but a stream
        // error says nothing.
        .init("authorization", "bearer ", 403, "MissingProviderToken"),
        .init("authorization", "basic QWxhZGRpbjpvcGVu", 403, "InvalidProviderToken"),
        .init("authorization", "bearer nonsense", 403, "InvalidProviderToken"),
        .init("authorization", "bearer a.b.c", 403, "InvalidProviderToken"),
        .init(token: "of more than 4,096 bytes") { try $0.token() + String(repeating: "A", count: 4096) },
        .init(token: "without its signature") { try $0.token().split(separator: ".").prefix(2).joined(separator: ".") },
        .init(token: "without alg") { try $0.token(header: #"{"kid":"\#($0.keyID)"}"#) },
        .init(token: "with alg none") { try $0.token(header: #"{"alg":"none","kid":"\#($0.keyID)"}"#) },
        .init(token: "with alg HS256") { try $0.token(header: #"{"alg":"HS256","kid":"\#($0.keyID)"}"#) },
        .init(token: "without kid") { try $0.token(header: #"{"alg":"ES256"}"#) },
        .init(token: "with the kid of no key") { try $0.with(keyID: "ZZZZZZZZZZ").token() },
        .init(token: "with a kid that can be none") { try $0.with(keyID: "short").token() },
        .init(token: "without iss") { try $0.token(claims: #"{"iat":\#(Provider.now)}"#) },
        .init(token: "with another team as iss") { try $0.with(teamID: "ZZZZZZZZZZ").token() },
        .init(token: "without iat") { try $0.token(claims: #"{"iss":"\#($0.teamID)"}"#) },
        .init(token: "with a word as iat") { try $0.token(claims: $0.claims(issuedAt: #""today""#)) },
        .init(token: "issued tomorrow") { try $0.token(claims: $0.claims(issuedAt: "\(Provider.now + 86_400)")) },
        .init(token: "issued more than an hour ago", "ExpiredProviderToken") {
            try $0.token(claims: $0.claims(issuedAt: "\(Provider.now - 3700)"))
        },
        .init(token: "signed with another key") { try $0.with(key: P256.Signing.PrivateKey()).token() },
        .init(token: "with a DER signature and a byte more") {
            try $0.token(signature: { $0.derRepresentation + [0] })
        },
        .init(token: "whose claims were changed") { provider in
            var parts = try provider.token().split(separator: ".").map(String.init)
            // Not one second, which may pass between the two.
            parts[1] = try provider.token(issuedSecondsAgo: 60).split(separator: ".").map(String.init)[1]
            return parts.joined(separator: ".")
        },
        .init("a revoked key", 403, "InvalidProviderToken") { push, situation, _ in
            push["authorization"] = "bearer " + (try situation.revoked.token())
        },
        .init("a key of the other environment", 403, "BadEnvironmentKeyIdInToken") { push, situation, environment in
            let other = situation.limited.first { $0.key != environment }
            push["authorization"] = "bearer " + (try required(other).value.token())
        },
    ]

    /// Faults of single headers.
    private static let fields: [FaultyRequest] = [
        .init("apns-id", "42", 400, "BadMessageId"),
        // The Guide's own example lacks a digit.
        .init("apns-id", "123e4567-e89b-12d3-a456-4266554400a", 400, "BadMessageId"),
        .init("apns-id", "{8b1e5b4a-9c0c-4d5e-8f00-0123456789ab}", 400, "BadMessageId"),
        .init("apns-id", "8b1e5b4a9c0c4d5e8f000123456789ab", 400, "BadMessageId"),
        .init("apns-id", "8b1e5b4a-9c0c-4d5e-8f00-0123456789ag", 400, "BadMessageId"),
        .init("apns-expiration", "tomorrow", 400, "BadExpirationDate"),
        .init("apns-expiration", "-1", 400, "BadExpirationDate"),
        .init("apns-expiration", "1.5", 400, "BadExpirationDate"),
        .init("apns-expiration", "99999999999999999999999", 400, "BadExpirationDate"),
        .init("apns-priority", "0", 400, "BadPriority"),
        .init("apns-priority", "7", 400, "BadPriority"),
        .init("apns-priority", "high", 400, "BadPriority"),
        .init("apns-collapse-id", String(repeating: "x", count: 65), 400, "BadCollapseId"),
        // Bytes count, not characters (Guide, Table 8-2).
        .init("apns-collapse-id", String(repeating: "ä", count: 33), 400, "BadCollapseId"),
        .init("apns-push-type", "shout", 400, "InvalidPushType"),
        .init("priority 10 for what holds only content-available", 400, "BadPriority") { push, _, _ in
            push["apns-priority"] = "10"
            push.payload(#"{"aps":{"content-available":1}}"#)
        },
        .init("priority 10 for a background notification", 400, "BadPriority") { push, _, _ in
            push["apns-priority"] = "10"
            push["apns-push-type"] = "background"
            push.payload(#"{"aps":{"content-available":1}}"#)
        },
    ]

    /// Faults of the topic.
    private static let topics: [FaultyRequest] = [
        .init("apns-topic", nil, 400, "MissingTopic"),
        .init("apns-topic", "two words", 400, "BadTopic"),
        // HTTP/2 allows no blank at the end of a value (RFC 9113, 8.2.1), but a stream error says nothing.
        .init("apns-topic", ProviderSituation.bundleID + " ", 400, "BadTopic"),
        .init("apns-topic", "com.example/app", 400, "BadTopic"),
        .init("apns-topic", String(repeating: "x", count: 600), 400, "BadTopic"),
        .init("apns-topic", "com.example.nobody", 400, "TopicDisallowed"),
        // A bundle ID of the greatest length with a suffix is a valid topic.
        .init("apns-topic", String(repeating: "x", count: 200) + ".voip", 400, "TopicDisallowed"),
        .init("apns-topic", String(repeating: "x", count: 201) + ".voip", 400, "BadTopic"),
        .init("apns-topic", ProviderSituation.otherBundleID, 400, "TopicDisallowed"),
        .init("another team's app with its token", 400, "TopicDisallowed") { push, situation, _ in
            push["authorization"] = "bearer " + (try situation.otherTeam.token())
        },
        .init("a key that is for another app alone", 400, "TopicDisallowed") { push, situation, _ in
            push["authorization"] = "bearer " + (try situation.restricted.token())
        },
        .init("apns-push-type", "voip", 400, "TopicDisallowed"),
        .init("apns-push-type", "complication", 400, "TopicDisallowed"),
        .init("apns-push-type", "fileprovider", 400, "TopicDisallowed"),
        .init("apns-push-type", "location", 400, "TopicDisallowed"),
        .init("apns-push-type", "liveactivity", 400, "TopicDisallowed"),
        .init("apns-push-type", "pushtotalk", 400, "TopicDisallowed"),
        .init("apns-push-type", "controls", 400, "TopicDisallowed"),
        .init("apns-push-type", "widgets", 400, "TopicDisallowed"),
        .init("apns-push-type", "mdm", 400, "TopicDisallowed"),
        .init("an alert to the VoIP topic", 400, "TopicDisallowed") { push, _, _ in
            push["apns-push-type"] = "alert"
            push["apns-topic"] = ProviderSituation.bundleID + ".voip"
        },
    ]

    private static let deviceTokens: [FaultyRequest] = [
        .init(path: "/3/device/nonsense", 400, "BadDeviceToken"),
        .init(path: "/3/device/00", 400, "BadDeviceToken"),
        .init(path: "/3/device/%3Cc63963fd%20fdafa1b9%3E", 400, "BadDeviceToken"),
        .init(path: "/3/device/" + String(repeating: "0", count: 64), 400, "BadDeviceToken"),
        .init(path: "/3/device/" + String(repeating: "f", count: 160), 400, "BadDeviceToken"),
        .init("a digit of the device token was changed", 400, "BadDeviceToken") { push, _, _ in
            push.path = push.path.dropLast() + (push.path.hasSuffix("0") ? "1" : "0")
        },
        .init("a device token of the other environment", 400, "BadDeviceToken") { push, situation, environment in
            let other = situation.tokens.first { $0.key != environment }
            push.path = "/3/device/" + (try required(other).value)
        },
        .init("a device token of another app", 400, "DeviceTokenNotForTopic") { push, _, _ in
            push["apns-topic"] = ProviderSituation.secondBundleID
        },
        .init("a device token that is no longer active", 410, "Unregistered") { push, situation, environment in
            push.path = "/3/device/" + (try required(situation.endedTokens[environment]))
        },
    ]

    /// Faults of the payload.
    private static let payloads: [FaultyRequest] = [
        .init("no body", 400, "PayloadEmpty") { push, _, _ in push.body = nil },
        .init(body: "", 400, "PayloadEmpty"),
        .init(body: "Hello", 400, "PayloadEmpty"),
        .init(body: "[]", 400, "PayloadEmpty"),
        .init(body: #""aps""#, 400, "PayloadEmpty"),
        .init(body: #"{"aps":{"alert":"Hello"}"#, 400, "PayloadEmpty"),
        .init(body: #"{"aps":{"alert":"Hello"}} more"#, 400, "PayloadEmpty"),
        .init(body: #"{"aps":{"alert":'Hello'}}"#, 400, "PayloadEmpty"),
        .init("a body that is not UTF-8", 400, "PayloadEmpty") { push, _, _ in
            push.body = Array(#"{"aps":{"alert":""#.utf8) + [0xff, 0xfe] + Array(#""}}"#.utf8)
        },
        .init("content-encoding", "gzip", 400, "PayloadEmpty"),
        .init("4,097 bytes", 413, "PayloadTooLarge") { push, _, _ in push.payload(bytes: 4097) },
        .init("100,000 bytes", 413, "PayloadTooLarge") { push, _, _ in push.payload(bytes: 100_000) },
        .init("5,121 bytes to the VoIP topic", 413, "PayloadTooLarge") { push, _, _ in
            push["apns-topic"] = ProviderSituation.bundleID + ".voip"
            push.payload(bytes: 5121)
        },
        .init("headers of more than 8,000 bytes", 413, "PayloadTooLarge") { push, _, _ in
            push.headers.append(("x-more", String(repeating: "x", count: 9000)))
        },
    ]

    /// Requests with two faults, of which the answer has the one that is checked first.
    private static let order: [FaultyRequest] = [
        .init("the method before the path", 405, "MethodNotAllowed") { push, _, _ in
            push.method = "PUT"
            push.path = "/"
        },
        .init("the path before a header that stands twice", 404, "BadPath") { push, _, _ in
            push.path = "/"
            push.headers += [("apns-priority", "5"), ("apns-priority", "5")]
        },
        .init("a header that stands twice before the provider token", 400, "DuplicateHeaders") { push, _, _ in
            push["authorization"] = nil
            push.headers += [("apns-priority", "5"), ("apns-priority", "5")]
        },
        .init("the provider token before the headers", 403, "InvalidProviderToken") { push, _, _ in
            push["authorization"] = "bearer nonsense"
            push["apns-priority"] = "7"
        },
        .init("the headers before the topic", 400, "BadPriority") { push, _, _ in
            push["apns-priority"] = "7"
            push["apns-topic"] = nil
        },
        .init("the topic before the device token", 400, "MissingTopic") { push, _, _ in
            push["apns-topic"] = nil
            push.path = "/3/device/00"
        },
        .init("the device token before the payload", 400, "BadDeviceToken") { push, _, _ in
            push.path = "/3/device/00"
            push.payload("Hello")
        },
        .init("the payload before the registration", 400, "PayloadEmpty") { push, situation, environment in
            push.path = "/3/device/" + (try required(situation.endedTokens[environment]))
            push.payload("Hello")
        },
    ]
}
