import HTTPAPI
import Matching
import Notifications
import VirtualDevices

extension DeviceBehaviour {
    /// - Parameter pointer: the place of the behaviour in the request's document.
    init(_ message: ManagementMessages.Behaviour, at pointer: String) throws(Problem) {
        guard let kind = Kind(rawValue: message.kind) else {
            throw .invalid(pointer + "/kind", "There is no such behaviour.")
        }
        guard message.delay == nil || kind == .slow else {
            throw .invalid(pointer + "/delay", "A delay is only for the behaviour slow.")
        }
        guard message.since == nil || kind == .removed else {
            throw .invalid(pointer + "/since", "The key since is only for the behaviour removed.")
        }
        switch kind {
        case .online: self = .online
        case .offline: self = .offline
        case .silent: self = .silent
        case .expired: self = .expired
        case .removed: self = .removed(since: message.since)
        case .slow:
            let text = message.delay ?? "PT1S"
            guard let delay = Duration(iso8601: text), delay <= VirtualDeviceLimits.delay else {
                throw .invalid(pointer + "/delay", "The value has to be a duration like PT0.5S, at most an hour.")
            }
            self = .slow(delay)
        }
    }
}

extension ManagementMessages.Behaviour {
    init(_ behaviour: DeviceBehaviour) {
        let kind = behaviour.kind.rawValue
        switch behaviour {
        case .slow(let delay): self.init(kind: kind, delay: delay.iso8601)
        case .removed(let since): self.init(kind: kind, since: since)
        case .online, .offline, .silent, .expired: self.init(kind: kind)
        }
    }
}
