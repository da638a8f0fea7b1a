import Delivery
package import HTTPAPI
import Notifications

extension ManagementMessages {
    /// A request for a new grant. Without a public key, the service makes a key.
    package struct NewGrant: JSONMessage {
        package let bundleID: String
        package let name: String
        package let publicKey: String?
        package let webPush: Bool?
        package var limits: GrantBounds
        package let suspended: Bool?

        package static let form: JSONForm<NewGrant> = .object(
            "NewGrant", NewGrant.init(bundleID:name:publicKey:webPush:limits:suspended:),
            .required("bundleID", .text(.bundleID), \.bundleID),
            .required("name", .text(.grantName), \.name, "For people."),
            .optional(
                "publicKey", .text(.any), \.publicKey,
                """
                The public half of the instance's key (P-256): in PEM, or the uncompressed point in Base64. Without it the \
                service makes a key.
                """),
            .optional(
                "webPush", .boolean, \.webPush,
                "Whether the grant has no key, and everybody's servers send to the endpoints of its handles."),
            .members(of: GrantBounds.form, \.limits),
            .optional("suspended", .boolean, \.suspended, meaningOfSuspended))
    }

    private static let meaningOfSuspended = "Whether its keys are refused for the time being."

    package struct GrantMade: JSONMessage {
        package let grant: String
        package let teamID: String
        package let keyID: String?
        package let clientKey: String
        package let bundleID: String
        package let privateKey: String?
        package let webPush: Bool?

        package static let form: JSONForm<GrantMade> = .object(
            "GrantMade", GrantMade.init,
            .required("grant", .text(.grantID), \.grant),
            .required("teamID", .text(.accountID), \.teamID, "The iss of the grant's provider tokens."),
            .optional(
                "keyID", .text(.accountID), \.keyID,
                "The kid of the grant's provider tokens; a grant for Web Push has none."),
            .required("clientKey", .text(.any), \.clientKey, "With it the app makes handles. It is no secret."),
            .required("bundleID", .text(.bundleID), \.bundleID),
            .optional("privateKey", .text(.any), \.privateKey, "In PEM, if the service made the key; shown this once."),
            .optional("webPush", .boolean, \.webPush, meaningOfWebPush))
    }

    private static let meaningOfWebPush = "true for a grant for Web Push."

    /// Changes a grant. What is missing stays; 0 or an empty list removes a limit.
    package struct GrantChange: JSONMessage {
        package let name: String?
        package let limits: GrantBounds
        package let suspended: Bool?

        package static let form: JSONForm<GrantChange> = .object(
            "GrantChange", GrantChange.init(name:limits:suspended:),
            .optional("name", .text(.grantName), \.name),
            .members(of: GrantBounds.form, \.limits),
            .optional("suspended", .boolean, \.suspended, meaningOfSuspended))
    }

    /// A request for a second key of a grant. Without a public key, the service makes a key.
    package struct NewGrantKey: JSONMessage {
        package let kind: String
        package let publicKey: String?

        package static let form: JSONForm<NewGrantKey> = .object(
            "NewGrantKey", NewGrantKey.init(kind:publicKey:),
            .required(
                "kind", .text(.grantKeyKind), \.kind,
                "provider: a key for provider tokens. client: a client key, with which the app makes handles."),
            .optional(
                "publicKey", .text(.any), \.publicKey,
                """
                Of the kind provider: the public half of the instance's key (P-256), in PEM or the uncompressed point in \
                Base64. Without it the service makes a key.
                """))

        package init(kind: String, publicKey: String? = nil) {
            self.kind = kind
            self.publicKey = publicKey
        }
    }

    package struct GrantKeyMade: JSONMessage {
        package let keyID: String
        package let kind: String
        package let made: UInt64
        package let clientKey: String?
        package let privateKey: String?

        package static let form: JSONForm<GrantKeyMade> = .object(
            "GrantKeyMade", GrantKeyMade.init,
            .required("keyID", .text(.accountID), \.keyID, "Of the kind provider: the kid of provider tokens."),
            .required("kind", .text(.grantKeyKind), \.kind), .required("made", .integer(), \.made),
            .optional("clientKey", .text(.any), \.clientKey, "The new client key."),
            .optional("privateKey", .text(.any), \.privateKey, "In PEM, if the service made the key; shown this once."))
    }

    /// A key of a grant, as the grant shows it.
    package struct GrantKey: JSONMessage {
        package let keyID: String
        package let kind: String
        package let made: UInt64

        package static let form: JSONForm<GrantKey> = .object(
            "GrantKey", GrantKey.init,
            .required("keyID", .text(.accountID), \.keyID), .required("kind", .text(.grantKeyKind), \.kind),
            .required("made", .integer(), \.made))
    }

    /// A handle, without the device token that it stands for.
    package struct GrantHandle: JSONMessage {
        package let handle: String
        package let environment: String
        package let state: String
        package let made: UInt64
        package let registered: UInt64

        package static let form: JSONForm<GrantHandle> = .object(
            "GrantHandle", GrantHandle.init,
            .required("handle", .text(.handle), \.handle), .required("environment", .text(.environment), \.environment),
            .required(
                "state", .text(.handleState), \.state,
                "ended: the upstream no longer knows the device token, or the app has not registered it for a long time."
            ),
            .required("made", .integer(), \.made, "When the app registered it first."),
            .required("registered", .integer(), \.registered, "When the app registered it last."))
    }

    /// The limits of a grant, as requests and answers have them among their members.
    package struct GrantBounds: JSONMessage {
        package var topics: [String]?
        package var pushTypes: [String]?
        package var priorities: [UInt8]?
        package var rate: Int?
        package var burst: Int?
        package var daily: Int?
        package var payloadBytes: Int?
        package var expires: UInt64?
        package var encryptedOnly: EncryptedOnly?
        package var maximumHandles: Int?
        package var registration: String?

        package static let form: JSONForm<GrantBounds> = .object(
            nil, GrantBounds.init,
            .optional(
                "topics", .list(of: .text(.any), to: GrantLimits.maximumTopics), \.topics,
                "The only topics of the app that it may send to; without it, all."),
            .optional(
                "pushTypes", .list(of: .text(.pushType), to: PushType.allCases.count), \.pushTypes,
                "The only push types that it may send; without it, all."),
            .optional(
                "priorities", .list(of: .integer(from: 1, to: 10), to: Priority.allCases.count), \.priorities,
                "The only priorities that it may use; without it, all."),
            .optional(
                "rate", .integer(to: GrantLimits.maximumRate), \.rate,
                "How many notifications each second; without it or with 0, any number."),
            .optional(
                "burst", .integer(to: GrantLimits.maximumRate), \.burst,
                "How many at once; without it or with 0, as many as in a second."),
            .optional(
                "daily", .integer(to: GrantLimits.maximumCount), \.daily,
                "How many on one day (UTC); without it or with 0, any number."),
            .optional(
                "payloadBytes", .integer(to: Payload.maximumVoIPBytes), \.payloadBytes,
                "The largest payload in bytes; without it or with 0, what the topic allows."),
            .optional("expires", .integer(), \.expires, "The end of the grant; without it or with 0, none."),
            .optional(
                "encryptedOnly", EncryptedOnly.form, \.encryptedOnly,
                """
                Whether only encrypted payloads may be sent, and what they may have beside an aps dictionary that says \
                nothing: with true one opaque text, or the keys of a product or of your own, each opaque, number or \
                identifier.
                """),
            .optional(
                "maximumHandles", .integer(to: GrantLimits.maximumCount), \.maximumHandles,
                "How many active handles; without it or with 0, \(GrantLimits.usualHandles)."),
            .optional(
                "registration", .text(.oneOf(GrantRegistration.allCases.map(\.rawValue))), \.registration,
                "code: the registration of a handle needs a code of the instance, which counts once. Without it, open.")
        )
    }

    package struct Grant: JSONMessage {
        package let grant: String
        package let bundleID: String
        package let name: String
        package let teamID: String
        package let keyID: String?
        package let publicKey: String?
        package let clientKey: String
        package let webPush: Bool?
        package let suspended: Bool
        package let made: UInt64
        package let revoked: UInt64?
        package let keys: [GrantKey]
        package let handles: Int
        package let today: UInt64
        package let sent: [String: UInt64]
        package let readable: [String]?
        package let limits: GrantBounds

        package static let form: JSONForm<Grant> = .object(
            "Grant", Grant.init,
            .required("grant", .text(.grantID), \.grant), .required("bundleID", .text(.bundleID), \.bundleID),
            .required("name", .text(.any), \.name), .required("teamID", .text(.accountID), \.teamID),
            .optional("keyID", .text(.accountID), \.keyID, "A grant for Web Push has none."),
            .optional("publicKey", .text(.any), \.publicKey, "Of the older key, as keyID. In PEM."),
            .required("clientKey", .text(.any), \.clientKey, "The older one."),
            .optional("webPush", .boolean, \.webPush, meaningOfWebPush),
            .required("suspended", .boolean, \.suspended),
            .required("made", .integer(), \.made), .optional("revoked", .integer(), \.revoked),
            .required("keys", .list(of: GrantKey.form), \.keys, "Its keys: one or two of each kind."),
            .required("handles", .integer(), \.handles, "How many active handles it has."),
            .required("today", .integer(), \.today, "How many notifications count for today's number (UTC)."),
            .required(
                "sent", .dictionary(of: .integer()), \.sent,
                "How its requests were answered: 200 or the reason, with the number of answers."),
            .optional(
                "readable", .list(of: .text(.any)), \.readable,
                "With encryptedOnly: what of its payloads the gateway, and so the publisher, can read."),
            .members(of: GrantBounds.form, \.limits))
    }

    /// A request to invite an instance, which sends its public key when it uses the invitation.
    package struct NewGrantInvitation: JSONMessage {
        package let bundleID: String
        package let name: String
        package let limits: GrantBounds

        package static let form: JSONForm<NewGrantInvitation> = .object(
            "NewGrantInvitation", NewGrantInvitation.init,
            .required("bundleID", .text(.bundleID), \.bundleID),
            .required("name", .text(.grantName), \.name, "The name of the grant."),
            .members(of: GrantBounds.form, \.limits))
    }

    package struct GrantInvitationMade: JSONMessage {
        package let code: String
        package let id: String
        package let expires: UInt64

        package static let form: JSONForm<GrantInvitationMade> = .object(
            "GrantInvitationMade", GrantInvitationMade.init,
            .required("code", .text(.any), \.code, "The one-time code; shown this once."),
            .required("id", .text(.invitationID), \.id, "The invitation's ID: SHA-256 of the code."),
            .required("expires", .integer(), \.expires))
    }

    package struct GrantInvitation: JSONMessage {
        package let id: String
        package let bundleID: String
        package let name: String
        package let expires: UInt64

        package static let form: JSONForm<GrantInvitation> = .object(
            "GrantInvitation", GrantInvitation.init,
            .required("id", .text(.invitationID), \.id), .required("bundleID", .text(.bundleID), \.bundleID),
            .required("name", .text(.any), \.name), .required("expires", .integer(), \.expires))
    }
}

extension ManagementMessages.NewGrant {
    package init(bundleID: String, name: String, publicKey: String? = nil, webPush: Bool? = nil) {
        self.init(
            bundleID: bundleID, name: name, publicKey: publicKey, webPush: webPush,
            limits: ManagementMessages.GrantBounds(), suspended: nil)
    }
}

extension ManagementMessages.GrantChange {
    package init(suspended: Bool) {
        self.init(name: nil, limits: ManagementMessages.GrantBounds(), suspended: suspended)
    }

    package init(name: String?, limits: ManagementMessages.GrantBounds) {
        self.init(name: name, limits: limits, suspended: nil)
    }
}

extension TextFormat {
    static let grantID = TextFormat("a grant's ID: g_ and 16 letters or digits", pattern: "^g_[a-z2-7]{16}$") {
        GrantID(rawValue: $0) != nil
    }

    static let handle = TextFormat("a handle: 64 hexadecimal digits", pattern: "^[0-9a-fA-F]{64}$") {
        Handle($0) != nil
    }

    static let handleState = oneOf(["active", "ended"])
    fileprivate static let grantKeyKind = oneOf(["provider", "client"])
    fileprivate static let pushType = oneOf(PushType.allCases.map(\.rawValue))
}
