import Connections
import Delivery
import Notifications

// The URL of the relays that publishers have run before. Their apps in the App Store have it built in.
extension WebPushAPI {
    /// What the path of a relay's URL has.
    struct RelayPath: Sendable, Hashable {
        var environment: Environment
        /// As it was sent.
        var token: String
        /// Nil if there is none.
        var extra: String?
    }

    /// Finds what a relay's URL leads to.
    func target(_ path: RelayPath, _ address: PeerAddress?) throws(Refusal) -> WebPushRelay.Target {
        guard accounts.isCurrent else { throw Self.refusal(.accountsNotCurrent) }
        do throws(Refusal) {
            let token: [UInt8]
            do throws(WebPushRelay.TokenFault) {
                token = try WebPushRelay.token(path.token)
            } catch {
                throw .status(404, error.detail)
            }
            guard let relay, environments.contains(path.environment),
                let target = WebPushRelay.Target(
                    accounts.current, path.environment, token: token, extra: path.extra)
            else { throw .status(404, "There is nothing at this path.") }
            guard !relay.isRefused(target, at: clock.moment.uptime) else {
                throw .status(404, "The upstream does not know the device token, and is not asked again before a day.")
            }
            return target
        } catch {
            if let address { rates.countGuess(of: address, at: clock.moment.uptime) }
            throw error
        }
    }
}
