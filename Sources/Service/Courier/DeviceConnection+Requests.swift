import Delivery
import HTTP2
import NIOCore
import Notifications
import Storage
import Trust

// The requests of the device protocol (docs/device-protocol.md).
extension DeviceConnection {
    func perform(_ request: DeviceRequest, on stream: StreamID) throws(Rejection) {
        try checkEnvironment()
        guard let action = try request.action?.get() else { throw Rejection(.internalServerError) }
        if action == .activate { return try activate(request, on: stream) }
        if action == .revocations { return revocations(on: stream) }
        if action == .listen, isEnded { return refuseToListen(stream) }
        let device = try authorizedDevice()
        switch action {
        case .activate, .revocations: break
        case .register(let bundleID): register(try app(bundleID), of: device, on: stream)
        case .registerService(let bundleID, let service):
            register(try app(bundleID), service, of: device, on: stream)
        case .registerActivity(let bundleID, let activity):
            register(try app(bundleID), .liveActivity, activity: activity, of: device, on: stream)
        case .unregister(let bundleID): unregister(try app(bundleID), of: device, on: stream)
        case .subscribe(let bundleID, let channel):
            change(Subscription(device: device, app: try app(bundleID).id, channel: channel), isWanted: true, stream)
        case .unsubscribe(let bundleID, let channel):
            change(Subscription(device: device, app: try app(bundleID).id, channel: channel), isWanted: false, stream)
        case .subscribeWebPush(let bundleID, let name):
            try subscribeWebPush(request, named: name, try app(bundleID), of: device, on: stream)
        case .unsubscribeWebPush(let bundleID, let name):
            try unsubscribeWebPush(name, try app(bundleID), of: device, on: stream)
        case .listWebPush(let bundleID): try listWebPush(try app(bundleID), of: device, on: stream)
        case .listen: listen(stream, as: device)
        case .acknowledge: try endAcknowledgements(request, on: stream)
        case .state: try changeState(request, as: device, on: stream)
        case .renew: renew(request, of: device, on: stream)
        case .reset: reset(device, on: stream)
        }
    }

    /// If the connection's certificate belongs to the other environment, every request is refused, and the connection ends
    /// with this reason.
    private func checkEnvironment() throws(Rejection) {
        guard let identity, identity.environment != courier.environment else { return }
        goAwayAfterThisRead(.badCertificateEnvironment)
        let detail = "The device certificate is for the \(identity.environment.rawValue) environment."
        throw Rejection(.badCertificateEnvironment, detail: detail)
    }

    /// Returns the device of the connection's certificate.
    func authorizedDevice() throws(Rejection) -> DeviceKey {
        guard identity != nil, let device = deviceKey else {
            throw Rejection(
                .forbidden, detail: "The request needs a device certificate; POST /1/activations makes one.")
        }
        try checkEnvironment()
        try checkCertificate()
        return device
    }

    private func app(_ name: String) throws(Rejection) -> App {
        guard let bundleID = BundleID(rawValue: name), let app = courier.accounts.current.apps[bundleID] else {
            throw Rejection(.badTopic, detail: "There is no app with the bundle ID \(name.prefix(100)).")
        }
        return app
    }

    /// Registers an app, and answers with its device token or that of one of its services.
    private func register(
        _ app: App,
        _ service: TopicKind = .app,
        activity: ActivityID? = nil,
        of device: DeviceKey,
        on stream: StreamID,
    ) {
        let destination = device.destination(of: app.id)
        let courier = courier
        answer(stream) {
            do throws(StoreError) {
                let registration = try await courier.registrations.register(
                    destination, tokenKeyID: courier.tokenKeys.current.current.rawValue, at: courier.clock.time)
                return await courier.answer(registration, service, activity: activity, at: destination)
            } catch {
                return DeviceAnswer(error)
            }
        }
    }

    private func unregister(_ app: App, of device: DeviceKey, on stream: StreamID) {
        let destination = device.destination(of: app.id)
        let courier = courier
        answer(stream) {
            do throws(StoreError) {
                let ended = try await courier.registrations.end(destination, at: courier.clock.time)
                courier.switchboard.removed(destination)
                // Its subscriptions have ended with it.
                courier.broadcasts.reload(device)
                guard let ended else { return DeviceAnswer(status: 204) }
                return await courier.answer(ended, at: destination)
            } catch {
                return DeviceAnswer(error)
            }
        }
    }

    /// Begins or ends a subscription to a channel.
    private func change(_ subscription: Subscription, isWanted: Bool, _ stream: StreamID) {
        let broadcasts = courier.broadcasts
        answer(stream) {
            do throws(Rejection) {
                if isWanted {
                    try await broadcasts.subscribe(subscription)
                } else {
                    try await broadcasts.unsubscribe(subscription)
                }
                return DeviceAnswer(status: 204)
            } catch {
                return DeviceAnswer(error)
            }
        }
    }

    private func changeState(_ request: DeviceRequest, as device: DeviceKey, on stream: StreamID) throws(Rejection) {
        guard let state = ReportedState(request.body) else {
            throw Rejection(.payloadEmpty, detail: #"The body must be {"power":"low"|"awake"|"charging"}."#)
        }
        power = state.power
        courier.switchboard.changePower(of: device, to: state.power)
        // A report of the power alone, by another program on the device, says nothing of the software.
        if let software = state.software { courier.seen.reported(software, by: device, at: courier.clock.time) }
        respond(stream, DeviceAnswer(status: 204))
    }
}

extension Courier {
    /// Returns the answer with the device token of a registration.
    /// - Parameter service: the service that the token is for; `app` for the app's own token.
    fileprivate func answer(
        _ registration: Registration,
        _ service: TopicKind = .app,
        activity: ActivityID? = nil,
        at destination: Destination,
    ) async -> DeviceAnswer {
        let activity = activity.map {
            DeviceTokenContents.Activity(
                id: $0,
                ends: clock.teams.time(clock.time, of: destination.app).advanced(by: limits.activityTokenLife))
        }
        let contents = DeviceTokenContents(
            device: destination.device, app: destination.app,
            number: TokenNumber.make(generation: registration.generation, service: service), activity: activity)
        do {
            let token = try await tokenKeys.seal(
                contents, environment: destination.environment, key: TokenKeyID(rawValue: registration.tokenKeyID))
            return DeviceAnswer(status: 200, body: #"{"token":"\#(token)"}"#)
        } catch let error as StoreError {
            return DeviceAnswer(error)
        } catch {
            return DeviceAnswer(Rejection(.internalServerError, detail: "\(error)"))
        }
    }
}
