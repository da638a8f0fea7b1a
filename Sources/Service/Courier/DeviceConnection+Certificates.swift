import Credentials
import Delivery
import HTTP2
import Notifications
import Storage
import Trust

// How a device gets and renews its certificate.
extension DeviceConnection {
    /// Activates a new device. The expensive part, the signature, is made outside the event loop.
    func activate(_ request: DeviceRequest, on stream: StreamID) throws(Rejection) {
        if request.activationCode == nil {
            try courier.activations.admitWithoutCode(to: courier.environment, isLocal: isLocal)
        }
        let courier = courier
        answer(stream) {
            await courier.answering {
                let now = courier.clock.machineTime
                let used: Activation? =
                    if let code = request.activationCode {
                        try await courier.activations.admit(code, to: courier.environment, at: now)
                    } else {
                        nil
                    }
                if let used { return try courier.answer(again: used, to: request.body, at: now) }
                var random = SystemRandomNumberGenerator()
                let device = DeviceID(rawValue: random.next())
                try courier.activations.admitSigning(at: now)
                let chain = try courier.sign(request.body, for: device, at: now)
                guard let code = request.activationCode else { return DeviceAnswer(certificates: chain, of: device) }
                let activation = Activation(key: try courier.key(request.body), device: device, chain: chain)
                let made = try await courier.activations.use(code, to: courier.environment, for: activation, at: now)
                return DeviceAnswer(certificates: made.chain, of: made.device)
            }
        }
    }

    /// Issues a new certificate to the device of the connection's certificate, before that one expires.
    func renew(_ request: DeviceRequest, of device: DeviceKey, on stream: StreamID) {
        let courier = courier
        answer(stream) {
            await courier.answering {
                let now = courier.clock.machineTime
                try courier.activations.admitRenewal(of: device, at: now)
                let chain = try courier.sign(request.body, for: device.device, at: now)
                return DeviceAnswer(certificates: chain, of: device.device)
            }
        }
    }

    /// Renews the device tokens of all apps on the device. An app receives nothing until it registers again.
    func reset(_ device: DeviceKey, on stream: StreamID) {
        let courier = courier
        answer(stream) {
            await courier.answering {
                let apps = try await courier.registrations.registrations(of: device).keys
                try await courier.registrations.renewTokens(
                    of: device, tokenKeyID: courier.tokenKeys.current.current.rawValue, at: courier.clock.time)
                for app in apps {
                    courier.switchboard.removed(
                        device.destination(of: app))
                }
                courier.broadcasts.reload(device)
                return DeviceAnswer(status: 204)
            }
        }
    }

    /// Answers with the list of revoked provider certificates. It is not secret, so anybody may request it.
    func revocations(on stream: StreamID) {
        let courier = courier
        answer(stream) {
            await courier.answering {
                let list = try courier.authority.revocationList(
                    of: courier.accounts.current, at: courier.clock.machineTime)
                return DeviceAnswer(status: 200, contentType: "application/x-pem-file", body: list.pem)
            }
        }
    }

    /// Whether the device has to stop: this node knows that it was revoked, or its certificate has expired.
    var isEnded: Bool { isRevoked || hasExpired }

    private var isRevoked: Bool {
        guard courier.accounts.isCurrent, let deviceKey else { return false }
        return courier.accounts.current.revokedDevices[deviceKey] != nil
    }

    private var hasExpired: Bool {
        guard courier.accounts.isCurrent, let identity else { return false }
        return Double(courier.clock.machineTime.milliseconds) / 1000 > identity.validUntil
    }

    /// Ends the connection with the reason if the device's certificate was revoked or has expired meanwhile. If this
    /// node cannot know whether it was revoked, the device has to connect to another one.
    func checkCertificate() throws(Rejection) {
        guard identity != nil else { return }
        guard courier.accounts.isCurrent else {
            goAway(.serviceUnavailable)
            throw .accountsNotCurrent
        }
        let detail: String
        if isRevoked {
            detail = "The device was revoked."
        } else if hasExpired {
            detail = "The device certificate has expired."
        } else {
            return
        }
        goAway(.badCertificate)
        throw Rejection(.badCertificate, detail: detail)
    }
}

extension Courier {
    /// Runs some work and turns its error into an answer.
    fileprivate func answering(_ work: () async throws -> DeviceAnswer) async -> DeviceAnswer {
        do {
            return try await work()
        } catch let error as Rejection {
            return DeviceAnswer(error)
        } catch let error as StoreError {
            return DeviceAnswer(error)
        } catch {
            return DeviceAnswer(Rejection(.internalServerError, detail: "\(error)"))
        }
    }

    /// Returns a certificate for the key of a request, followed by its intermediate certificate, in PEM.
    fileprivate func sign(_ request: [UInt8], for device: DeviceID, at now: Timestamp) throws(Rejection) -> String {
        var random = SystemRandomNumberGenerator()
        do {
            let issued = try authority.issueDeviceCertificate(
                request: request,
                device: device,
                environment: environment,
                now: Double(now.milliseconds) / 1000,
                using: &random,
            )
            return issued.chainPEM
        } catch {
            throw Self.badRequest(error)
        }
    }

    /// What identifies the key of a request.
    fileprivate func key(_ request: [UInt8]) throws(Rejection) -> [UInt8] {
        do { return try SigningRequest.keyDigest(pem: request) } catch { throw Self.badRequest(error) }
    }

    private static func badRequest(_ error: TrustError) -> Rejection {
        Rejection(.payloadEmpty, detail: "The body must be a PKCS#10 request in PEM. \(error.reason)")
    }

    /// Answers a device that repeats its activation because it did not get the answer: with the same certificate. A request with
    /// another key counts as one with a wrong code.
    fileprivate func answer(
        again activation: Activation,
        to request: [UInt8],
        at now: Timestamp,
    ) throws(Rejection) -> DeviceAnswer {
        guard try key(request) == activation.key else { throw activations.wrongCode(at: now) }
        let device = DeviceKey(environment: environment, device: activation.device)
        guard accounts.current.revokedDevices[device] == nil else {
            throw Rejection(.forbidden, detail: "The device that was activated with this code was revoked.")
        }
        return DeviceAnswer(certificates: activation.chain, of: activation.device)
    }
}

extension DeviceAnswer {
    fileprivate init(certificates chain: String, of device: DeviceID) {
        self.init(status: 200, contentType: "application/x-pem-file", body: chain)
        deviceID = device
    }
}
