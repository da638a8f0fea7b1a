import Delivery
import HTTPAPI
import Notifications

extension ManagementSchemas {
    private static let grantMoment = Schema.integer(0...Int64.max)
    private static let count = Schema.integer(0...Int64.max)
    private static let grantID = Schema.string(.grantID)
    private static let grantName = Schema.string(.line(maximumBytes: Grant.maximumNameBytes))
    private static let topics = Schema.array(.string(.any), count: 0...GrantLimits.maximumTopics)
    private static let pushTypes = Schema.array(
        .string(.oneOf(PushType.all.map(\.rawValue))), count: 0...PushType.all.count)
    private static let priorities = Schema.array(.integer(1...10), count: 0...Priority.allCases.count)

    /// The limits in requests and answers.
    private static let limits: [Schema.Member] = [
        .optional("topics", topics, "The only topics of the app that it may send to; without it, all."),
        .optional("pushTypes", pushTypes, "The only push types that it may send; without it, all."),
        .optional("priorities", priorities, "The only priorities that it may use; without it, all."),
        .optional(
            "rate", .integer(0...Int64(GrantLimits.maximumRate)),
            "How many notifications each second; without it or with 0, any number."),
        .optional(
            "burst", .integer(0...Int64(GrantLimits.maximumRate)),
            "How many at once; without it or with 0, as many as in a second."),
        .optional(
            "daily", .integer(0...Int64(GrantLimits.maximumCount)),
            "How many on one day (UTC); without it or with 0, any number."),
        .optional(
            "payloadBytes", .integer(0...Int64(Payload.maximumVoIPBytes)),
            "The largest payload in bytes; without it or with 0, what the topic allows."),
        .optional("expires", grantMoment, "The end of the grant; without it or with 0, none."),
        .optional(
            "encryptedOnly", .boolean,
            "Whether nothing may be sent but one text in base64url beside an aps dictionary that says nothing."),
        .optional(
            "maximumHandles", .integer(0...Int64(GrantLimits.maximumCount)),
            "How many handles; without it or with 0, \(GrantLimits.usualHandles)."),
    ]
    private static let suspended = Schema.Member.optional(
        "suspended", .boolean, "Whether its keys are refused for the time being.")

    static let newGrant = Schema.named(
        "NewGrant",
        .object(
            [
                .required("bundleID", .string(.bundleID)), .required("name", grantName, "For people."),
                .optional(
                    "publicKey", .string(.any),
                    "The public half of the instance's key (P-256): in PEM, or the uncompressed point in Base64. Without "
                        + "it the service makes a key."),
            ] + limits + [suspended]))

    static let grantMade = Schema.named(
        "GrantMade",
        .object([
            .required("grant", grantID),
            .required("teamID", .string(.accountID), "The iss of the grant's provider tokens."),
            .required("keyID", .string(.accountID), "The kid of the grant's provider tokens."),
            .required("clientKey", .string(.any), "With it the app makes handles. It is no secret."),
            .optional("privateKey", .string(.any), "In PEM, if the service made the key; shown this once."),
        ]))

    static let grantChange = Schema.named(
        "GrantChange", .object([.optional("name", grantName)] + limits + [suspended]))

    static let grant = Schema.named(
        "Grant",
        .object(
            [
                .required("grant", grantID), .required("bundleID", .string(.bundleID)),
                .required("name", .string(.any)),
                .required("teamID", .string(.accountID)), .required("keyID", .string(.accountID)),
                .required("publicKey", .string(.any), "In PEM."), .required("clientKey", .string(.any)),
                .required("suspended", .boolean), .required("made", grantMoment), .optional("revoked", grantMoment),
                .required("handles", count, "How many handles it has."),
                .required("today", count, "How many notifications count for today's number (UTC)."),
                .required(
                    "sent", .openObject,
                    "How its requests were answered: 200 or the reason, with the number of answers."),
            ] + limits))

    static let newGrantInvitation = Schema.named(
        "NewGrantInvitation",
        .object(
            [.required("bundleID", .string(.bundleID)), .required("name", grantName, "The name of the grant.")] + limits
        ))

    static let grantInvitationMade = Schema.named(
        "GrantInvitationMade",
        .object([
            .required("code", .string(.any), "The one-time code; shown this once."),
            .required("id", .string(.invitationID), "The invitation's ID: SHA-256 of the code."),
            .required("expires", grantMoment),
        ]))

    static let grantInvitation = Schema.named(
        "GrantInvitation",
        .object([
            .required("id", .string(.invitationID)), .required("bundleID", .string(.bundleID)),
            .required("name", .string(.any)), .required("expires", grantMoment),
        ]))
}

extension TextFormat {
    static let grantID = TextFormat("a grant's ID: g_ and 16 letters or digits", pattern: "^g_[a-z2-7]{16}$") {
        GrantID(rawValue: $0) != nil
    }
}
