import Matching
import Notifications

// Checks which requests a rule can match. A rehearsal sees a request after the provider API's decision and before the store
// handles it, so it does not know the final outcome. If a match needs that outcome, the rule never fires, and a test
// that waits for its fault passes without it. Such rules are rejected.
extension Rehearsal.Rule {
    /// - Parameter place: the place of the match in the document.
    /// - Throws: an error if the rule could never fire.
    func checkReach(_ place: String) throws(MatchError) {
        let interfaces = match.interface.map { [$0] } ?? fault.interfaces
        let isBinary = interfaces.allSatisfy { $0 == .binary }
        if isBinary { try checkBinaryReach(place) }
        guard interfaces != [.webPush], match.subscription == nil, match.text == nil else {
            return try checkWebPushReach(place, interfaces)
        }
        let outcomes: [RequestOutcome] = isBinary ? [.pending] : [.pending, .rejected]
        if let outcome = match.outcome, !outcomes.contains(outcome) {
            throw Self.fault(place, .outcome, oneOf: outcomes.map(\.rawValue), Self.later)
        }
        let reasons = isBinary ? [] : Self.reasons
        var statuses = Set(reasons.map(\.status)).union([200])
        if interfaces.contains(.webPush) { statuses.formUnion(Self.webPushStatuses) }
        if let status = match.status, !statuses.contains(status) {
            throw Self.fault(place, .status, oneOf: statuses.sorted().map { "\($0)" }, Self.later)
        }
        guard let reason = match.reason else { return try checkOutcome(place) }
        guard let known = reasons.first(where: { $0.rawValue == reason }) else {
            throw Self.fault(place, .reason, oneOf: reasons.map(\.rawValue), Self.later)
        }
        if let status = match.status, status != known.status {
            throw MatchError("\(place)/status", "\(reason) has the status \(known.status).")
        }
        if match.outcome == .pending {
            throw MatchError("\(place)/outcome", "A request with a reason is rejected; the value has to be rejected.")
        }
    }

    /// Rejects matches on what a binary notification does not have: headers, and an identifier chosen by the provider.
    private func checkBinaryReach(_ place: String) throws(MatchError) {
        let missing: [(RequestMatch.Member, Bool)] = [
            (.pushType, match.pushType != nil), (.collapseID, match.collapseID != nil),
            (.apnsID, match.apnsID != nil), (.reason, match.reason != nil),
        ]
        for (key, isGiven) in missing where isGiven {
            throw MatchError(
                "\(place)/\(key.rawValue)",
                "In the binary API a rehearsal is about notifications that are accepted, and these have no \(key.rawValue)."
            )
        }
    }

    /// The statuses with which Web Push answers a message for a subscription that is there, without using the store.
    private static let webPushStatuses: Set<Int> = [201, 400, 401, 403, 413, 415, 429]

    /// Rejects matches on what a message of Web Push does not have, and on its names where the fault is for no such message.
    private func checkWebPushReach(_ place: String, _ interfaces: [ProviderInterface]) throws(MatchError) {
        guard interfaces.contains(.webPush) else {
            let key: RequestMatch.Member = match.subscription != nil ? .subscription : .text
            throw MatchError("\(place)/\(key.rawValue)", "Only a message of Web Push has it (protocol webpush).")
        }
        let missing: [(RequestMatch.Member, Bool)] = [
            (.token, match.token != nil), (.channel, match.channel != nil), (.apnsID, match.apnsID != nil),
            (.reason, match.reason != nil), (.payload, match.payload != nil), (.serverName, match.serverName != nil),
        ]
        for (key, isGiven) in missing where isGiven {
            throw MatchError("\(place)/\(key.rawValue)", "A message of Web Push has no \(key.rawValue).")
        }
        let outcomes: [RequestOutcome] = [.pending, .rejected]
        if let outcome = match.outcome, !outcomes.contains(outcome) {
            throw Self.fault(place, .outcome, oneOf: outcomes.map(\.rawValue), Self.later)
        }
        if let status = match.status, !Self.webPushStatuses.contains(status) {
            throw Self.fault(
                place, .status, oneOf: Self.webPushStatuses.sorted().map { "\($0)" }, Self.later)
        }
        try checkOutcome(place)
    }

    private func checkOutcome(_ place: String) throws(MatchError) {
        guard let status = match.status, let outcome = match.outcome else { return }
        let fitting: RequestOutcome = (200..<300).contains(status) ? .pending : .rejected
        if outcome != fitting {
            throw MatchError("\(place)/outcome", "With the status \(status) the value has to be \(fitting.rawValue).")
        }
    }

    private static let later =
        "A rehearsal acts on the provider API's decision, before the service knows what becomes of the notification."

    private static func fault(
        _ place: String,
        _ key: RequestMatch.Member,
        oneOf allowed: [String],
        _ cause: String,
    ) -> MatchError {
        MatchError(
            "\(place)/\(key.rawValue)", "The value has to be one of \(allowed.joined(separator: ", ")). \(cause)")
    }

    /// The reasons with which a provider API rejects a request without using the store.
    private static let reasons = Rejection.Reason.allCases.filter { reason in
        switch reason {
        case .unregistered, .expiredToken, .tooManyRequests, .internalServerError, .featureNotEnabled,
            .channelNotRegistered, .cannotCreateChannelConfig:
            false
        case .badCollapseID, .badDeviceToken, .badExpirationDate, .badMessageID, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed, .badCertificate, .badCertificateEnvironment,
            .expiredProviderToken, .forbidden, .invalidProviderToken, .missingProviderToken, .unrelatedKeyIDInToken,
            .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken, .badPath, .methodNotAllowed, .payloadTooLarge,
            .tooManyProviderTokenUpdates, .serviceUnavailable, .shutdown, .missingChannelID, .badChannelID,
            .missingPushType, .badRequestPayload, .badRequestParams, .topicMismatch:
            true
        }
    }
}
