import Delivery
import Notifications
import Trust

/// What a request asks for, with the values that only such a request has.
enum RequestKind {
    /// A notification to a device of this service.
    case device(DevicePush)
    /// A notification to all subscribers of a channel.
    case broadcast(BroadcastPush)
    /// A notification that an upstream delivers.
    case upstream(UpstreamPush)
    /// A notification with the key of a grant. When its handle has been looked up, it is one to a device or to an upstream.
    case grant(GrantPush)
    /// A request about handles or grants.
    case handles(HandleRequest)
    /// The fields are refused, whatever comes after them.
    case refusal(Rejection)
}

extension RequestRules {
    /// Decides what a request asks for, and makes the checks that need only its fields: the one place that does so.
    /// - Parameters:
    ///   - accounts: asked for only if the request needs them.
    ///   - time: the service's time.
    func kind(
        of request: ProviderRequest,
        in accounts: @autoclosure () -> AccountsSnapshot,
        at time: @autoclosure () -> Timestamp,
    ) -> RequestKind {
        do throws(Rejection) {
            switch request.path {
            case .handles(let path):
                return .handles(try HandleRequest(request.method, path, clientKey: request.clientKey))
            case .broadcast(let bundleID):
                return .broadcast(try broadcast(request, bundleID, in: accounts()))
            case .bad, .withoutDeviceToken, .deviceToken, .otherDeviceToken, .badDeviceToken:
                if request.handle != nil { return .device(try address(request)) }
                if let id = request.grantID, let grant = accounts().grants[id] {
                    return .grant(try push(request, of: grant, at: time()))
                }
                if let upstream = request.topic.present?.upstream(in: environment) {
                    return .upstream(try push(request, to: upstream))
                }
                return .device(try check(request))
            }
        } catch {
            return .refusal(error)
        }
    }
}

/// How much of a request's body is kept.
enum BodyRoom {
    /// This many bytes. With more of them the request is refused.
    case bytes(Int)
    /// The same, but the refusal is compared with the upstream's, and more bytes are kept for that.
    case compared(Int, UpstreamPush)
    /// Nothing, because the request is refused in any case.
    case nothing(Rejection)
}

extension RequestKind {
    var bodyRoom: BodyRoom {
        switch self {
        case .device(let push): .bytes(push.topic.payloadLimit)
        case .broadcast: .bytes(BroadcastPush.maximumBytes)
        case .upstream(let push): push.bodyRoom
        case .grant(let push): push.upstream?.bodyRoom ?? .bytes(push.topic.payloadLimit)
        case .handles: .bytes(HandleRequest.maximumBodyBytes)
        case .refusal(let rejection): .nothing(rejection)
        }
    }
}
