import Notifications
import Testing

/// The table of reasons, compared with the documents.
@Suite("Rejections")
struct RejectionTests {
    /// The Guide's Table 8-6, row by row, then what came later (docs/current-apns.md).
    private static let table: [(status: Int, reason: String)] = [
        (400, "BadCollapseId"), (400, "BadDeviceToken"), (400, "BadExpirationDate"), (400, "BadMessageId"),
        (400, "BadPriority"), (400, "BadTopic"), (400, "DeviceTokenNotForTopic"), (400, "DuplicateHeaders"),
        (400, "IdleTimeout"), (400, "MissingDeviceToken"), (400, "MissingTopic"), (400, "PayloadEmpty"),
        (400, "TopicDisallowed"),
        (403, "BadCertificate"), (403, "BadCertificateEnvironment"), (403, "ExpiredProviderToken"), (403, "Forbidden"),
        (403, "InvalidProviderToken"), (403, "MissingProviderToken"),
        (404, "BadPath"), (405, "MethodNotAllowed"), (410, "Unregistered"), (413, "PayloadTooLarge"),
        (429, "TooManyProviderTokenUpdates"), (429, "TooManyRequests"),
        (500, "InternalServerError"), (503, "ServiceUnavailable"), (503, "Shutdown"),
        (400, "InvalidPushType"), (403, "UnrelatedKeyIdInToken"), (403, "BadEnvironmentKeyIdInToken"),
        (410, "ExpiredToken"), (403, "BadEnvironmentKeyInToken"),
        (400, "FeatureNotEnabled"), (400, "MissingChannelId"), (400, "BadChannelId"), (400, "ChannelNotRegistered"),
        (400, "CannotCreateChannelConfig"), (400, "MissingPushType"), (400, "BadRequestPayload"),
        (400, "BadRequestParams"), (403, "TopicMismatch"),
    ]

    @Test(arguments: table)
    func `Every reason has the status that the documents give`(_ status: Int, _ reason: String) throws {
        #expect(try #require(Rejection.Reason(rawValue: reason)).status == status)
    }

    @Test
    func `There is no reason that the documents do not name`() {
        #expect(Set(Rejection.Reason.allCases.map(\.rawValue)) == Set(Self.table.map(\.reason)))
    }

    @Test(arguments: Rejection.Reason.allCases)
    func `Every reason has a sentence`(_ reason: Rejection.Reason) {
        #expect(reason.row.meaning.hasSuffix("."))
    }

    @Test
    func `For a notification that must never be sent again, the advice says so`() {
        // docs/current-apns.md, "What clients do".
        let final: [Rejection.Reason] = [
            .badDeviceToken, .deviceTokenNotForTopic, .forbidden, .expiredToken, .unregistered, .payloadTooLarge,
        ]
        for reason in final {
            #expect([.fixRequest, .forgetDeviceToken, .fixCredentials].contains(reason.row.advice))
        }
    }

    @Test(arguments: Rejection.Reason.allCases)
    func `For a fault of the service, the advice is to try again`(_ reason: Rejection.Reason) {
        let isTriedAgain = [.retryLater, .reconnect].contains(reason.row.advice)
        let takesAnotherConnection = [.idleTimeout, .unrelatedKeyIDInToken].contains(reason)
        #expect(isTriedAgain == (reason.status >= 500 || reason.status == 429 || takesAnotherConnection))
    }

    /// What the Guide's Table 8-6 says of the certificate, the provider token and the account.
    @Test(arguments: Rejection.Reason.allCases)
    func `What a reason is about follows from the table`(_ reason: Rejection.Reason) {
        let sender: [Rejection.Reason] = [
            .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIDInToken, .badEnvironmentKeyIDInToken, .badEnvironmentKeyInToken,
            .topicDisallowed, .tooManyProviderTokenUpdates, .featureNotEnabled, .topicMismatch,
            .cannotCreateChannelConfig,
        ]
        let service: [Rejection.Reason] = [.idleTimeout, .internalServerError, .serviceUnavailable, .shutdown]
        let expected: RejectionSubject =
            sender.contains(reason) ? .sender : service.contains(reason) ? .service : .notification
        #expect(reason.row.subject == expected)
        #expect(RejectionSubject(reason: reason.rawValue, status: reason.status) == expected)
        if [.fixCredentials, .renewProviderToken].contains(reason.row.advice), reason != .cannotCreateChannelConfig {
            #expect(expected == .sender)
        }
    }

    @Test(arguments: [
        (403, RejectionSubject.sender), (429, .notification), (500, .service), (599, .service), (400, .notification),
    ])
    func `A reason that is not known goes by its status`(_ status: Int, _ subject: RejectionSubject) {
        #expect(RejectionSubject(reason: "New", status: status) == subject)
    }

    // MARK: Push types and priorities

    @Test(
        arguments: [
            ("alert", .app), ("background", .app), ("voip", .voip), ("complication", .complication),
            ("fileprovider", .fileProvider), ("location", .location), ("liveactivity", .liveActivity),
            ("pushtotalk", .pushToTalk), ("controls", .controls), ("widgets", .widgets), ("mdm", nil),
        ] as [(String, TopicKind?)])
    func `Each push type fits its kind of topic`(_ text: String, _ kind: TopicKind?) throws {
        #expect(try #require(PushType(rawValue: text)).topicKind == kind)
    }

    @Test(arguments: ["Alert", "", "passive", "file-provider"])
    func `There are eleven push types`(_ text: String) {
        #expect(PushType.allCases.count == 11)
        #expect(PushType(rawValue: text) == nil)
    }

    @Test(arguments: 0...255 as ClosedRange<UInt8>)
    func `A priority is 10, 5 or 1`(_ number: UInt8) {
        #expect((Priority(rawValue: number) != nil) == [10, 5, 1].contains(number))
    }
}
