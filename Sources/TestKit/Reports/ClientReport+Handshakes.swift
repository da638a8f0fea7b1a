package import Matching

// Findings about TLS handshakes (Guide, 2.3.3), most of them about rehearsals of TLS.
extension ClientReport {
    /// What is known of a client's handshakes.
    package struct Handshakes: Sendable {
        /// The handshakes that failed or that a rehearsal disturbed, in their order.
        package var records: [HandshakeRecord]
        /// Whether a client may have been told to trust the other authority.
        package var mayTrustOtherAuthority: Bool
        /// Whether a rehearsal still disturbs handshakes.
        package var isDisturbed: Bool

        package init(_ records: [HandshakeRecord], mayTrustOtherAuthority: Bool, isDisturbed: Bool) {
            self.records = records
            self.mayTrustOtherAuthority = mayTrustOtherAuthority
            self.isDisturbed = isDisturbed
        }
    }

    /// - Parameter requests: the recorded requests, among them those of the connections.
    package static func findings(_ handshakes: Handshakes, _ requests: [RecordedRequest]) -> [Finding] {
        let byConnection = Dictionary(grouping: requests, by: \.facts.connection)
            .mapValues { $0.map(\.facts.number) }
        var handshakes = handshakes
        handshakes.records.removeAll { $0.connection.interface == .webPush }
        return accepted(handshakes, byConnection) + refused(handshakes) + failed(handshakes) + gone(handshakes)
    }

    /// Handshakes that were completed although the client must refuse the certificate.
    private static func accepted(_ handshakes: Handshakes, _ requests: [UInt64: [UInt64]]) -> [Finding] {
        let completed = handshakes.records.filter { $0.result == .completed }
        // A client that accepts one of these checks nothing.
        let careless = Set(
            completed.filter { [.expired, .notYetValid, .wrongName].contains($0.certificate) }.map(\.connection.client))
        let wrong = completed.filter { record in
            switch record.certificate {
            case nil, .crossSigned: false
            case .otherAuthority: !handshakes.mayTrustOtherAuthority || careless.contains(record.connection.client)
            case .expired, .notYetValid, .wrongName, .incompleteChain: true
            }
        }
        let advice =
            "Check the server's certificate: its names, its dates, and that its chain leads to an authority that you trust. "
            + "Otherwise anybody can take your notifications and your provider tokens."
        // Some clients, such as Node.js, check the certificate after the handshake.
        let (used, unused) = (
            wrong.filter { requests[$0.connection.number] != nil },
            wrong.filter { requests[$0.connection.number] == nil }
        )
        return byFault(used).map { fault, records in
            Finding(
                "certificate-accepted", .error, section: "2.3.3",
                "\(clients(records)) accepted \(meaning(fault)), and sent requests.", advice: advice,
                numbers: records.flatMap { requests[$0.connection.number] ?? [] })
        }
            + byFault(unused).map { fault, records in
                Finding(
                    "certificate-accepted", .warning, section: "2.3.3",
                    "\(clients(records)) completed the handshake with \(meaning(fault)), and sent no request.",
                    advice: advice, numbers: [])
            }
    }

    /// Handshakes that the client ended.
    private static func refused(_ handshakes: Handshakes) -> [Finding] {
        let refused = handshakes.records.filter { $0.isRefused && $0.connection.fault != nil }
        return byFault(refused).compactMap { fault, records in
            let (severity, advice): (Finding.Severity, String)
            switch fault {
            case .certificate(.otherAuthority):
                severity = .warning
                advice =
                    "If the service changes its authority, this client loses it: add the new authority to those that it "
                    + "trusts before the change, and keep the old one until after it."
            case .certificate(.crossSigned):
                severity = .error
                advice =
                    "The chain leads to the authority that the client trusts, over one of two ways: let it try both."
            case .certificate:
                severity = .note
                advice = "Nothing: a client has to refuse it."
            case .versions:
                severity = .warning
                advice = "Allow TLS 1.2 and TLS 1.3: the service may offer either."
            case .disturbance: return nil
            }
            return Finding(
                "certificate-refused", severity, section: "2.3.3",
                "\(clients(records)) refused \(meaning(fault)), with \(alerts(records)).", advice: advice,
                numbers: records.compactMap(\.number))
        }
    }

    /// Handshakes that failed, although no rehearsal disturbed them.
    private static func failed(_ handshakes: Handshakes) -> [Finding] {
        let failed = handshakes.records.filter { $0.connection.fault == nil && $0.result != .completed }
        guard !failed.isEmpty else { return [] }
        return [
            Finding(
                "handshake-failed", .warning, section: "2.3.3",
                "\(failed.count) TLS handshakes of \(clients(failed)) failed, with \(alerts(failed)).",
                advice:
                    "Let the client trust the service's authority (ca.pem), use a name that is in its certificate, and offer "
                    + "HTTP/2 (ALPN h2).",
                numbers: failed.compactMap(\.number))
        ]
    }

    /// Clients that have not connected again after a rehearsal disturbed them.
    private static func gone(_ handshakes: Handshakes) -> [Finding] {
        // While handshakes are still disturbed, a client may be unable to come back.
        guard !handshakes.isDisturbed else { return [] }
        var last: [ConnectionFacts.Client: HandshakeRecord] = [:]
        for record in handshakes.records { last[record.connection.client] = record }
        let gone = handshakes.records.filter { record in
            let newest = last[record.connection.client]
            return newest == record && record.result != .completed && !record.cameBack && record.connection.fault != nil
        }
        guard !gone.isEmpty else { return [] }
        return [
            Finding(
                "handshake-not-recovered", .warning, section: "2.3.3",
                "\(clients(gone)) never came back after handshakes that a rehearsal disturbed.",
                advice: "Connect again after a failed handshake, with a delay that grows with each attempt.",
                numbers: gone.compactMap(\.number))
        ]
    }

    /// Groups records by their fault, in the order in which the faults came.
    private static func byFault(_ records: [HandshakeRecord]) -> [(HandshakeFault, [HandshakeRecord])] {
        var groups: [(HandshakeFault, [HandshakeRecord])] = []
        for record in records {
            guard let fault = record.connection.fault else { continue }
            if let place = groups.firstIndex(where: { $0.0 == fault }) {
                groups[place].1.append(record)
            } else {
                groups.append((fault, [record]))
            }
        }
        return groups
    }

    /// A person reads only the first clients and connections.
    private static let maximumShown = 5

    /// The clients of the records, each with its connections.
    private static func clients(_ records: [HandshakeRecord]) -> String {
        var order: [ConnectionFacts.Client] = []
        var connections: [ConnectionFacts.Client: [UInt64]] = [:]
        for record in records {
            let client = record.connection.client
            if connections[client] == nil { order.append(client) }
            connections[client, default: []].append(record.connection.number)
        }
        let shown = order.prefix(maximumShown).map { client in
            let all = connections[client] ?? []
            let some = all.prefix(maximumShown).map { "c\($0)" }.joined(separator: ", ")
            return "\(client.name) (\(some)\(all.count > maximumShown ? " and others" : ""))"
        }
        return shown.joined(separator: "; ") + (order.count > maximumShown ? "; and others" : "")
    }

    private static func alerts(_ records: [HandshakeRecord]) -> String {
        let alerts = Set(records.compactMap(\.result.alert)).sorted()
        switch alerts.count {
        case 0: return records.contains { $0.result.offered != nil } ? "no HTTP/2 offered" : "no alert"
        case 1: return "the alert \(alerts[0])"
        default: return "the alerts \(alerts.joined(separator: ", "))"
        }
    }

    private static func meaning(_ fault: HandshakeFault) -> String {
        switch fault {
        case .certificate(.otherAuthority): "a certificate of another authority"
        case .certificate(.expired): "a certificate that had expired"
        case .certificate(.notYetValid): "a certificate that was not valid yet"
        case .certificate(.wrongName): "a certificate for another name"
        case .certificate(.incompleteChain): "a chain without its intermediate certificate"
        case .certificate(.crossSigned): "a chain that leads to either authority"
        case .versions(let versions): "TLS \(versions.map(\.rawValue).joined(separator: " and ")) alone"
        case .disturbance(let disturbance): "a handshake that was \(disturbance.rawValue)"
        }
    }
}

extension HandshakeRecord {
    fileprivate var certificate: HandshakeFault.Certificate? {
        guard case .certificate(let certificate) = connection.fault else { return nil }
        return certificate
    }

    /// Whether the client ended the handshake, with an alert or without.
    fileprivate var isRefused: Bool {
        switch result {
        case .alert, .clientEnded, .failed: true
        case .completed, .serviceEnded, .withoutHTTP2, .leftUnused: false
        }
    }
}

extension ConnectionFacts.Client {
    /// The client in words: its address, and what it asked for.
    fileprivate var name: String {
        let host = host.isEmpty ? "A client" : host
        return "\(host) for \(serverName ?? "no name"), \(interface.rawValue)"
    }
}
