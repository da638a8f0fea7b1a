import APNSDevice
import Foundation

// The way to the service: name, port, certificate, and what it says of the identity and the clock.
extension Doctor {
    /// What the service was asked, and what it answered.
    struct Service {
        var name: Finding
        var port: Finding
        var certificate: Finding
        /// The validity of the courier's certificate.
        var validity: DateInterval?
        /// The time by the service's clock.
        var time: Date?
        /// Why the service refuses the device's identity; nil if it does not.
        var refusal: DeviceError?
        /// Whether the service was asked with the identity.
        var wasAsked = false
    }

    func examineService(_ identity: DeviceIdentity?) async -> Service {
        var service = Service(
            name: name(), port: Finding(.port, .skipped, "Without an address, no port can be tried."),
            certificate: Finding(.certificate, .skipped, "Without a connection, there is no certificate."))
        guard service.name.state != .fault else { return service }
        service.port = await port()
        guard service.port.state == .ok else { return service }
        (service.certificate, service.validity, service.time) = await certificate()
        guard service.certificate.state == .ok, let identity else { return service }
        do throws(DeviceError) {
            _ = try await probe.ask(as: identity)
            service.wasAsked = true
        } catch {
            service.wasAsked = error.code == .identityRefused
            service.refusal = service.wasAsked ? error : nil
        }
        return service
    }

    private var place: String { "\(settings.courier.host), port \(settings.courier.port)" }

    private func name() -> Finding {
        let host = settings.courier.host
        guard !probe.isAddress else { return Finding(.name, .skipped, "\(host) is an address and needs no DNS.") }
        do throws(DeviceError) {
            return Finding(.name, .ok, "\(host) is \(try probe.address()).")
        } catch {
            return Finding(
                .name, .fault, "\(host) has no address: \(error.cause).",
                "Correct the name in --service, or look at this machine's DNS: getent hosts \(host)")
        }
    }

    private func port() async -> Finding {
        do throws(DeviceError) {
            try await probe.connect()
            return Finding(.port, .ok, "\(place) accepts connections.")
        } catch {
            return Finding(
                .port, .fault, "There is no connection to \(place): \(error.cause).",
                "Check that the service runs, that the port is right (\(Self.courierPorts)), and that no firewall is in between."
            )
        }
    }

    private static let courierPorts = "the courier's is 5223 for development and 15223 for production"

    private func certificate() async -> (Finding, DateInterval?, Date?) {
        func fault(_ text: String, _ advice: String) -> Finding { Finding(.certificate, .fault, text, advice) }
        let authority = settings.courier.authorityFile
        let presented: CourierProbe.Presented
        do throws(DeviceError) {
            presented = try await probe.presented()
        } catch {
            let text = "What listens at \(place) does not speak TLS as a courier does: \(error.cause)."
            return (fault(text, "Check the address and the port in --service."), nil, nil)
        }
        let validity = presented.validity
        do throws(DeviceError) {
            // Asking takes time, and the clocks are compared at the moment when the doctor began.
            let asked = try await probe.ask()
            let elapsed = ContinuousClock.now - began
            let time = asked.map { $0.addingTimeInterval(-Double(elapsed.components.seconds)) }
            return (
                Finding(.certificate, .ok, "\(authority) has issued the service's certificate."), validity, time
            )
        } catch {
            switch error.code {
            case .badAuthority:
                return (
                    fault(error.cause, "Copy the service's ca.pem to \(authority), readable for the agent's user."),
                    validity,
                    nil
                )
            case .courierNotTrusted: break
            default:
                return (
                    fault(
                        "No courier answers at \(place): \(error.cause)",
                        "Check the port in --service: \(Self.courierPorts). If it is right, look at the service's log."),
                    validity, nil
                )
            }
        }
        if let validity, !validity.contains(now) {
            let text =
                "By this machine's clock, \(Self.text(now)), the service's certificate is not valid: it is from "
                + "\(Self.text(validity.start)) to \(Self.text(validity.end))."
            return (
                fault(text, "Set the clock; if it is right, restart the service, which renews its certificate."),
                validity, nil
            )
        }
        let isIssued = (try? await probe.isIssuedByAuthority()) ?? false
        let finding =
            isIssued
            ? fault(
                "The service's certificate is for another name than \(settings.courier.host).",
                "Use a name of the service in --service, or start the service with --hostname \(settings.courier.host)."
            )
            : fault(
                "\(authority) has not issued the service's certificate.",
                "Copy ca.pem from this service's data folder to \(authority).")
        return (finding, validity, nil)
    }

    // MARK: What follows from it

    /// A clock that differs by more lets notifications expire too early or too late.
    static let smallDifference: TimeInterval = 60
    /// A clock that differs by more is wrong for certificates of a day's age.
    static let largeDifference: TimeInterval = 86_400

    func clock(_ service: Service, _ identity: DeviceIdentity?) -> Finding {
        let advice = "Set the clock, and let a service keep it right: timedatectl set-ntp true"
        let text = "By this machine's clock it is \(Self.text(now))"
        if let time = service.time {
            // The service says whole seconds.
            let difference = now.timeIntervalSince(time)
            let words = "\(Self.text(seconds: abs(difference))) \(difference < 0 ? "behind" : "ahead of") the service's"
            guard abs(difference) <= Self.largeDifference else {
                return Finding(.clock, .fault, "\(text), \(words).", advice)
            }
            guard abs(difference) <= Self.smallDifference else {
                return Finding(.clock, .warning, "\(text), \(words).", advice)
            }
            return Finding(.clock, .ok, "\(text), as by the service's.")
        }
        if let own = identity?.validity, now < own.start {
            return Finding(.clock, .fault, "\(text), before the device's certificate was made.", advice)
        }
        if let validity = service.validity, !validity.contains(now) {
            let side =
                now < validity.start
                ? "before the service's certificate was made" : "after the service's certificate has ended"
            return Finding(.clock, .fault, "\(text), \(side).", advice)
        }
        return Finding(.clock, .skipped, "\(text). The service could not be asked.")
    }

    func environment(_ identity: DeviceIdentity?, _ service: Service) -> Finding {
        guard let identity else {
            return Finding(.environment, .skipped, "Without an identity, the service says nothing of the environment.")
        }
        guard service.wasAsked else {
            return Finding(.environment, .skipped, "The service could not be asked with the device's identity.")
        }
        let name = identity.environment.rawValue
        if service.refusal?.reason == "BadCertificateEnvironment" {
            return Finding(
                .environment, .fault,
                "The identity is of the \(name) environment, and \(place) is the other one's courier.",
                "Use the \(name) courier's port in --service, or give the agent an activation code of the other environment."
            )
        }
        guard service.refusal == nil else {
            return Finding(.environment, .skipped, "The service refuses the identity.")
        }
        return Finding(.environment, .ok, "Identity and courier are of the \(name) environment.")
    }

    static func text(_ date: Date) -> String { date.formatted(.iso8601) }

    static func text(seconds: TimeInterval) -> String {
        switch seconds {
        case ..<120: "\(Int(clampedDouble: seconds)) seconds"
        case ..<7200: "\(Int(clampedDouble: seconds / 60)) minutes"
        case ..<172_800: "\(Int(clampedDouble: seconds / 3600)) hours"
        default: "\(Int(clampedDouble: seconds / 86_400)) days"
        }
    }
}

extension Int {
    /// The nearest whole number, or the largest one.
    fileprivate init(clampedDouble value: Double) { self = Int(exactly: value.rounded()) ?? .max }
}
