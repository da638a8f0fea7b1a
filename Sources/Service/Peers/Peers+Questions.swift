package import Delivery
import Logging
package import Notifications
import Synchronization

// What nodes ask each other for the management API.
extension Peers {
    // MARK: Delivery logs

    /// Sets the function that reads the delivery log when other nodes ask for it. If it throws, this node does not answer.
    package func answerLogQuestions(_ answer: @escaping @Sendable (NotificationID) async throws -> [String]) {
        readLog.withLock { $0 = answer }
    }

    /// Asks nodes for their delivery log entries about a notification.
    /// - Returns: the entries of the nodes that answered in time.
    package func log(of id: NotificationID, at nodes: [NodeID], within time: Duration) async -> [NodeID: [String]] {
        await ask(nodes, logQuestions, within: time) { _, number in .logQuestion(number, id) }
    }

    func answer(_ number: UInt64, _ id: NotificationID, over link: PeerLink) {
        guard let read = readLog.withLock({ $0 }), link.logAnswers.begin() else { return }
        Task {
            defer { link.logAnswers.end() }
            do {
                for line in try await read(id) where line.utf8.count < limits.recordBytes / 2 {
                    // Without its end, the answer does not count.
                    guard link.send(.logEntry(number, line)) else { return }
                }
                link.send(.logEnd(number))
            } catch {
                // An answer without entries would say that nothing happened here.
                logger.warning(
                    "The delivery log cannot be read, so another node does not get its entries",
                    metadata: ["error": "\(error)"])
            }
        }
    }

    // MARK: Devices

    /// Sets the function that finds the connected ones among devices when other nodes ask for them.
    package func answerDeviceQuestions(_ answer: @escaping @Sendable ([DeviceKey]) async -> [ConnectedDevice]) {
        findDevices.withLock { $0 = answer }
    }

    /// Asks nodes which of these devices are connected to them, with one question to each node.
    /// - Parameter devices: at most ``PeerLimits/askedDevices``. If there are more, no node is asked.
    /// - Returns: the devices of the nodes that answered in time. A node of an earlier release, which does not know the
    ///   question, is not asked.
    package func connected(
        among devices: [DeviceKey],
        at nodes: [NodeID],
        within time: Duration,
    ) async -> [NodeID: [ConnectedDevice]] {
        guard devices.count <= limits.askedDevices else { return [:] }
        let deviceSet = Set(devices)
        let answers = await ask(nodes, deviceQuestions, within: time) { link, number in
            link.answersDeviceQuestions ? .deviceQuestion(number, devices) : nil
        }
        // Another device in the answer would be a defect of the other node.
        return answers.mapValues { $0.filter { deviceSet.contains($0.key) } }
    }

    func answer(_ number: UInt64, _ devices: [DeviceKey], over link: PeerLink) {
        guard devices.count <= limits.askedDevices, let find = findDevices.withLock({ $0 }),
            link.deviceAnswers.begin()
        else { return }
        // In a task, because the event loop serves devices and providers.
        Task {
            defer { link.deviceAnswers.end() }
            for device in await find(devices) {
                // Without its end, the answer does not count.
                guard link.send(.connectedDevice(number, device)) else { return }
            }
            link.send(.deviceEnd(number))
        }
    }

    // MARK: Asking

    /// Sends a question to each node.
    /// - Parameter record: returns the question with a number; nil if the node would not understand it.
    /// - Returns: the answers of the nodes that answered in time.
    private func ask<Part: Sendable>(
        _ nodes: [NodeID],
        _ questions: PeerQuestions<Part>,
        within time: Duration,
        _ record: @escaping @Sendable (PeerLink, UInt64) -> PeerRecord?,
    ) async -> [NodeID: [Part]] {
        await withTaskGroup(of: (NodeID, [Part]?).self) { group in
            for node in nodes {
                group.addTask {
                    guard let link = self.link(to: node) else { return (node, nil) }
                    return (node, await self.ask(link, questions, within: time, record))
                }
            }
            return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
        }
    }

    private func ask<Part: Sendable>(
        _ link: PeerLink,
        _ questions: PeerQuestions<Part>,
        within time: Duration,
        _ record: (PeerLink, UInt64) -> PeerRecord?,
    ) async -> [Part]? {
        await withCheckedContinuation { continuation in
            let number = questions.begin(to: link.node) { continuation.resume(returning: $0) }
            guard let question = record(link, number), link.send(question) else {
                return questions.end(number, from: link.node, isComplete: false)
            }
            Task {
                // The sleep throws only if the task is cancelled, which nobody does.
                try? await Task.sleep(for: time)
                questions.end(number, from: link.node, isComplete: false)
            }
        }
    }
}
