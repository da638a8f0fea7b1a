import Notifications
import SQLSupport

// The columns of the provider server's tables. Each property is read and written by what stands here, in both databases.

extension Installation {
    /// The columns without the number, the app and the secret, which only the store uses.
    static let table = Table<Installation>(
        "installation",
        Installation.init(
            id:deviceToken:environment:languages:timeZone:user:tags:appTags:appVersion:values:appValues:tokens:
            badge:registered:
            created:changed:end:),
        Column("id", type: .text, \.id),
        Column("token", type: .hexadecimal, \.deviceToken),
        Column("environment", type: .environment, \.environment),
        Column("language", "languages", type: .languages, \.languages),
        Column("time_zone", type: .emptyIfNil, \.timeZone),
        Column(userColumn, type: .optional(.text), \.user),
        Column("tags", type: .words, \.tags),
        Column("app_tags", type: .optionalWords, \.appTags),
        Column("app_version", type: .optional(.text), \.appVersion),
        Column("user_values", type: .templateValues, \.values),
        Column("app_values", type: .templateValues, \.appValues),
        Column("tokens", type: .serviceTokens, \.tokens),
        Column("badge", type: .integer, \.badge),
        Column("registered", type: .moment, \.registered),
        Column("created", type: .moment, \.created),
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
            number:id:app:state:document:created:starts:finished:position:rate:cause:total:tally:),
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
        Column("total", type: .optional(.integer), \.total),
        Column("accepted", "opened", type: .accepted, \.tally))
}

extension SendOutcome {
    /// The columns of an outcome of a message.
    static let table = Table<SendOutcome>(
        "outcome", SendOutcome.stored,
        Column("installation", type: .integer, \.installation),
        Column("status", type: .mapping(.integer, to: Int64.init) { Int(exactly: $0) }, \.status),
        Column("reason", type: .optional(.text), \.reason),
        Column("at", type: .moment, \.at),
        Column("opened", type: .optional(.moment), \.opened))
}

extension SendOutcome {
    private static func stored(
        _ installation: Int64, _ status: Int, _ reason: String?, _ at: Timestamp, _ opened: Timestamp?,
    ) -> SendOutcome {
        var outcome = SendOutcome(installation: installation, status: status, reason: reason, at: at)
        outcome.opened = opened
        return outcome
    }
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
