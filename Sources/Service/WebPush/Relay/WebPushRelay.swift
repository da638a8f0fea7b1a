import Crypto
import Delivery
import Notifications
import Synchronization
import Trust

/// What the relay's URL needs beside the rest of Web Push (docs/web-push.md).
package final class WebPushRelay: Sendable {
    /// The longest extra part of the URL, in bytes: apps put an account's identifier there. It takes its place of the message's
    /// in the notification.
    package static let maximumExtraBytes = 512

    private let phones: any PhoneSending
    private let refused = Mutex(RefusedTokens())

    package init(phones: any PhoneSending) { self.phones = phones }

    /// Where a request goes.
    struct Target: Sendable {
        var settings: AppWebPush
        var app: App
        var upstream: AppUpstream?
        var token: [UInt8]
        /// Stands for the token where the token itself must not be.
        var owner: [UInt8]
        /// The last part of the URL; nil if there is none.
        var extra: String?

        /// - Returns: nil if the environment has no app with the URL.
        init?(_ accounts: AccountsSnapshot, _ environment: Environment, token: [UInt8], extra: String?) {
            guard let settings = accounts.relay(in: environment), let app = accounts.apps[settings.place.bundleID]
            else { return nil }
            (self.settings, self.app, self.token, self.extra) = (settings, app, token, extra)
            upstream = accounts.upstreams[settings.place]
            owner = Array(
                SHA256.hash(data: Array("web push relay \(app.id.rawValue) \(environment.rawValue) ".utf8) + token))
        }

        var phone: Phone {
            Phone(
                deviceToken: token, app: app, environment: settings.place.environment,
                share: ForwardingShare(app.team), subscription: "", owner: owner)
        }
    }

    /// Reads a device token.
    /// - Throws: a sentence that says what is wrong with it.
    static func token(_ text: String) throws(TokenFault) -> [UInt8] {
        if let fault = DeviceToken.fault(in: text) { throw TokenFault(detail: fault) }
        let allowed = NamedTokens.byteCounts
        guard let token = Hexadecimal.bytes(text), allowed.contains(token.count) else {
            throw TokenFault(
                detail: "The device token has to have \(allowed.lowerBound) to \(allowed.upperBound) bytes.")
        }
        return token
    }

    struct TokenFault: Error {
        var detail: String
    }

    func isRefused(_ target: Target, at now: Uptime) -> Bool {
        guard let upstream = target.upstream else { return false }
        return refused.withLock { $0.has(target.owner, refusedBy: upstream, at: now) }
    }

    /// Hands a message on, and remembers a token that the upstream does not know.
    func send(
        _ message: WebPushMessage, _ id: NotificationID, timeToLive: UInt64, to target: Target, at now: Uptime
    ) async throws(PhoneRefusal) {
        let outcome = await phones.send(message, id, ttl: timeToLive, extra: target.extra, to: target.phone)
        if case .gone = outcome { refuse(target, at: now) }
        if let refusal = outcome.refusal { throw refusal }
    }

    private func refuse(_ target: Target, at now: Uptime) {
        guard let upstream = target.upstream else { return }
        refused.withLock { $0.add(target.owner, refusedBy: upstream, at: now) }
    }
}
