import Notifications
import SQLSupport

// The columns of the provider server's tables. Each property is read and written by what stands here, in both databases.

extension Installation {
    /// The columns without the number, the app and the secret, which only the store uses.
    static let table = Table<Installation>(
        "installation",
        Installation.init(
            id:deviceToken:environment:languages:timeZone:user:tags:appVersion:values:registered:changed:end:),
        Column("id", type: .text, \.id),
        Column("token", type: .hexadecimal, \.deviceToken),
        Column("environment", type: .environment, \.environment),
        Column("language", "languages", type: .languages, \.languages),
        Column("time_zone", type: .emptyIfNil, \.timeZone),
        Column(userColumn, type: .optional(.text), \.user),
        Column("tags", type: .words, \.tags),
        Column("app_version", type: .optional(.text), \.appVersion),
        Column("user_values", type: .templateValues, \.values),
        Column("registered", type: .moment, \.registered),
        Column("changed", type: .moment, \.changed),
        Column("ended", "end_reason", type: .optional(.end), \.end))

    /// `user` is a keyword of PostgreSQL.
    static let userColumn = ColumnName(sqlite: "user", postgresql: "user_name")
}

extension ProviderApp {
    static let table = Table<ProviderApp>(
        "app",
        ProviderApp.init(
            number:bundleID:teamID:endpoints:clientKeyDigest:serverKeyDigest:acceptsClaimedUsers:identity:),
        Column("number", type: .integer, isGenerated: true, \.number),
        Column("bundle_id", type: .text, \.bundleID),
        Column("team", type: .text, \.teamID),
        Column("endpoints", type: .endpoints, \.endpoints),
        Column("client_key", type: .bytes, \.clientKeyDigest),
        Column("server_key", type: .bytes, \.serverKeyDigest),
        Column("accepts_claimed_users", type: .bool, \.acceptsClaimedUsers),
        Column("identity", type: .optional(.json()), \.identity))
}

extension MessageRecord {
    /// The columns without the idempotency key and the server that holds the message.
    static let table = Table<MessageRecord>(
        "message",
        MessageRecord.init(
            number:id:app:state:document:created:starts:finished:position:rate:cause:tally:),
        Column("number", type: .integer, isGenerated: true, \.number),
        Column("id", type: .text, \.id),
        Column("app", type: .integer, \.app),
        Column("state", type: .state, \.state),
        Column("document", type: .bytes, \.document),
        Column("created", type: .moment, \.created),
        Column("starts", type: .moment, \.starts),
        Column("finished", type: .optional(.moment), \.finished),
        Column("last", "due", "environment", "after", type: .position, \.position),
        Column("rate", type: .optional(.integer), \.rate),
        Column("cause", type: .optional(.text), \.cause),
        Column("accepted", type: .accepted, \.tally))
}

extension SendOutcome {
    /// The columns of an outcome of a message.
    static let table = Table<SendOutcome>(
        "outcome", { SendOutcome(installation: $0, status: $1, reason: $2, at: $3) },
        Column("installation", type: .integer, \.installation),
        Column("status", type: .mapping(.integer, to: Int64.init) { Int(exactly: $0) }, \.status),
        Column("reason", type: .optional(.text), \.reason),
        Column("at", type: .moment, \.at))
}

extension SavedAudience {
    static let table = Table<SavedAudience>(
        "audience", SavedAudience.init,
        Column("name", type: .text, \.name),
        Column("app", type: .integer, \.app),
        Column("document", type: .bytes, \.document),
        Column("changed", type: .moment, \.changed))
}

extension Hook {
    static let table = Table<Hook>(
        "hook", Hook.init,
        Column("number", type: .integer, isGenerated: true, \.number),
        Column("id", type: .text, \.id),
        Column("app", type: .integer, \.app),
        Column("url", type: .text, \.url),
        Column("secret", type: .bytes, \.sealedSecret))
}

extension HookDelivery {
    /// The columns without the body of the event.
    static let table = Table<HookDelivery>(
        "hook_delivery", HookDelivery.init,
        Column("number", type: .integer, isGenerated: true, \.number),
        Column("id", type: .text, \.id),
        Column("hook", type: .hookNumber, \.hook),
        Column("kind", type: .eventKind, \.event),
        Column("created", type: .moment, \.created),
        Column("attempts", type: .integer, \.attempts),
        Column("next", type: .optional(.moment), \.next),
        Column("status", type: .optional(.integer), \.status),
        Column("cause", type: .optional(.text), \.cause))
}
